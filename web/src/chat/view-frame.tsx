import { useEffect, useRef, useState } from 'react';
import { address, ask } from '../api.js';
import { authorization } from '../secrets.js';
import type { ShownView } from './turn.js';

/** How tall a view may make itself, in pixels. */
const LEAST_HEIGHT = 80;
const MOST_HEIGHT = 640;

interface ViewFrameProps {
  readonly view: ShownView;
  /** The tool's arguments, as JSON. */
  readonly args: string;
  /** What the tool answered, as text. */
  readonly result: string;
}

/**
 * Shows a view in a frame that can reach nothing of this page: the frame is sandboxed, so that the view has an origin of its own, and its policy
 * says what it may load (CONTRACT.md 8.1, 14.3). The two speak over the bridge of MCP Apps only: the view is handed the call's input and
 * result, and may ask for a height. It can call no tools and cannot write into the conversation.
 */
export function ViewFrame({ view, args, result }: ViewFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [problem, setProblem] = useState<string>();
  // The call is over when its view is opened, so what the view is handed never changes.
  const call = useRef({ args, result });

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const closed = new AbortController();
    openView({ element, view, ...call.current, signal: closed.signal }).catch(() => {
      if (!closed.signal.aborted) setProblem('The view could not be opened.');
    });
    return () => closed.abort();
  }, [view]);

  if (problem !== undefined) return <p className="quiet">{problem}</p>;
  return <iframe className="view" ref={frame} title={`View of ${view.tool}`} sandbox="allow-scripts" referrerPolicy="no-referrer" />;
}

interface OpenedView extends ViewFrameProps {
  readonly element: HTMLIFrameElement;
  readonly signal: AbortSignal;
}

async function openView({ element, view, args, result, signal }: OpenedView): Promise<void> {
  const { AppBridge, PostMessageTransport } = await import('@modelcontextprotocol/ext-apps/app-bridge');
  // The frame's window stays the same when a page is loaded into it.
  const target = element.contentWindow;
  if (target === null || signal.aborted) return;
  const theme = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const bridge = new AppBridge(
    null,
    { name: 'mcp-agent-api', version: '1' },
    {},
    { hostContext: { theme, displayMode: 'inline', availableDisplayModes: ['inline'] } },
  );
  signal.addEventListener('abort', () => void bridge.close());
  bridge.oninitialized = () => {
    void bridge.sendToolInput({ arguments: objectIn(args) });
    const { structuredContent } = view;
    void bridge.sendToolResult({ content: [{ type: 'text', text: result }], ...(structuredContent === null ? {} : { structuredContent }) });
  };
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) element.style.height = `${Math.min(Math.max(height, LEAST_HEIGHT), MOST_HEIGHT)}px`;
  };
  // A view speaks first, so the bridge has to listen before the view is there.
  const connect = () => bridge.connect(new PostMessageTransport(target, target));
  if (authorization().authorization === undefined) {
    await connect();
    element.src = address(pathOf(view));
    return;
  }
  // A frame cannot send a token, and an address must not hold one, since logs keep addresses. So the page fetches the view, and a page that
  // can do nothing else writes it into its own document.
  const answer = await ask(pathOf(view), { signal });
  const html = withPolicy(await answer.text(), answer.headers.get('content-security-policy') ?? "default-src 'none'");
  const ready = readinessOf(target, signal);
  element.src = address('view-frame.html');
  await ready;
  await connect();
  // The frame has no origin that could be named here.
  target.postMessage({ html }, '*');
}

function pathOf({ toolset, uri, hash }: ShownView): string {
  const rest = uri.replace(/^ui:\/\//, '');
  const own = `${toolset}/`;
  const path = rest.startsWith(own) ? rest.slice(own.length) : rest;
  const query = hash === null ? '' : `?hash=${encodeURIComponent(hash)}`;
  return `views/${encodeURIComponent(toolset)}/${encodeURIComponent(path)}${query}`;
}

function readinessOf(target: Window, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const listen = ({ source, data }: MessageEvent) => {
      if (source !== target || data?.isReadyForView !== true) return;
      window.removeEventListener('message', listen);
      resolve();
    };
    window.addEventListener('message', listen, { signal });
  });
}

/** The policy becomes the first element of the view, before anything that it is to govern. The sandbox in it is the frame's own attribute. */
function withPolicy(html: string, policy: string): string {
  const meta = document.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = policy.replace(/^sandbox[^;]*;\s*/, '');
  return html.replace(/^\s*(?:<!doctype[^>]*>)?/i, (doctype) => doctype + meta.outerHTML);
}

function objectIn(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    // A model may write arguments that are no JSON; then the view has to do with the result.
    return {};
  }
}
