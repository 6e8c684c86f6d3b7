import { type BaseEvent, EventType } from '@ag-ui/core';
import type { RunEvent } from '../agent/run-event.js';
import type { ViewSource } from '../core/ports.js';

/** How long a run waits for a view that was never read before; once it was, nothing is waited for. */
const FIRST_READ_MS = 2_000;

/**
 * The activity that follows the result of a tool with a view (CONTRACT.md 7.2, 8.4); undefined where there is none. It names the content that
 * is live at the time of the call, so that a client can show that one later, whatever came after it.
 */
export async function viewActivity(
  event: RunEvent,
  { views, signal }: { readonly views: ViewSource | undefined; readonly signal: AbortSignal },
): Promise<BaseEvent | undefined> {
  if (event.type !== 'call-result' || event.artifact?.view === undefined) return undefined;
  const { toolset, view: uri, structuredContent } = event.artifact;
  const hash = views === undefined ? null : await unlessAborted(views.hashSoon(toolset, uri, FIRST_READ_MS), signal);
  return {
    type: EventType.ACTIVITY_SNAPSHOT,
    messageId: `${event.messageId}-view`,
    activityType: 'mcp.view',
    content: { toolCallId: event.callId, toolset, tool: event.tool, uri, hash, structuredContent: structuredContent ?? null },
  };
}

/** A run that was ended waits for nothing. */
async function unlessAborted(hash: Promise<string | null>, signal: AbortSignal): Promise<string | null> {
  let stop: () => void = () => undefined;
  const ended = new Promise<null>((resolve) => {
    stop = () => resolve(null);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([hash, ended]).finally(() => signal.removeEventListener('abort', stop));
}
