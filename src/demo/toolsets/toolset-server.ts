import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Definition } from './definition.js';

/** What a server of a demo toolset is made of. `definition` is asked for at every request, so a redeploy needs no restart. */
export interface ToolsetOffer {
  readonly name: string;
  readonly dataDir: string;
  definition(): Definition;
}

/** One demo toolset on one protocol era. */
export interface ToolsetServer {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Sends the `list_changed` notification of tools or of views to every client that listens. */
  announce(what: 'tools' | 'views'): void;
  close(): Promise<void>;
}
