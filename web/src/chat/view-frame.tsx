import { useEffect, useRef, useState } from 'react';
import { address } from '../api.js';
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
 * Shows a view in a frame that can reach nothing of this page: the frame is sandboxed, and the policy that the view is served with puts it
 * into an origin of its own (CONTRACT.md 8.1, 14.3). The two speak over the bridge of MCP Apps only; the view is handed the call's input
 * and result, and may ask for its height. It can call no tools and cannot write into the conversation.
 */
export function ViewFrame({ view, args, result }: ViewFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [problem, setProblem] = useState<string>();
  // What the view is handed is what was known when it was opened: the call is over by then.
  const call = useRef({ args, result, structuredContent: view.structuredContent });

  useEffect(() => {
    const element = frame.current;
    const target = element?.contentWindow;
    if (!element || !target) return;
    let closed = false;
    let close = () => {};
    const open = async () => {
      const { AppBridge, PostMessageTransport } = await import('@modelcontextprotocol/ext-apps/app-bridge');
      if (closed) return;
      const theme = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
      const bridge = new AppBridge(
        null,
        { name: 'mcp-agent-api', version: '1' },
        {},
        { hostContext: { theme, displayMode: 'inline', availableDisplayModes: ['inline'] } },
      );
      close = () => void bridge.close();
      bridge.oninitialized = () => {
        const { structuredContent } = call.current;
        void bridge.sendToolInput({ arguments: objectIn(call.current.args) });
        void bridge.sendToolResult({
          content: [{ type: 'text', text: call.current.result }],
          ...(structuredContent === null ? {} : { structuredContent }),
        });
      };
      bridge.onsizechange = ({ height }) => {
        if (height !== undefined) element.style.height = `${Math.min(Math.max(height, LEAST_HEIGHT), MOST_HEIGHT)}px`;
      };
      // The bridge has to listen before the view speaks, and the frame's window stays the same when its page is loaded.
      await bridge.connect(new PostMessageTransport(target, target));
      if (!closed) element.src = viewAddress(view);
    };
    open().catch(() => setProblem('The view could not be opened.'));
    return () => {
      closed = true;
      close();
    };
  }, [view]);

  if (authorization().authorization !== undefined) return <p className="quiet">{TOKEN_NOTE}</p>;
  if (problem !== undefined) return <p className="quiet">{problem}</p>;
  return <iframe className="view" ref={frame} title={`View of ${view.tool}`} sandbox="allow-scripts" referrerPolicy="no-referrer" />;
}

/** A frame cannot send a token, and the page must not put it into an address, where logs would keep it. */
const TOKEN_NOTE = 'This tool has a view. The page cannot show it where the service wants a token.';

function viewAddress({ toolset, uri, hash }: ShownView): string {
  const rest = uri.replace(/^ui:\/\//, '');
  const own = `${toolset}/`;
  const path = rest.startsWith(own) ? rest.slice(own.length) : rest;
  const query = hash === null ? '' : `?hash=${encodeURIComponent(hash)}`;
  return address(`views/${encodeURIComponent(toolset)}/${encodeURIComponent(path)}${query}`);
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
