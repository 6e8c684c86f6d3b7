import type { ToolArtifact } from './bind-tool.js';
import type { ThreadMessage } from './thread-messages.js';

/**
 * What happens in a turn, in the order of CONTRACT.md 7.2. How it is written on the wire is http/'s business. Every start has its end,
 * unless the turn fails in between.
 */
export type RunEvent =
  | { readonly type: 'text-start'; readonly messageId: string }
  | { readonly type: 'text-delta'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'text-end'; readonly messageId: string }
  | { readonly type: 'call-start'; readonly callId: string; readonly tool: string; readonly messageId: string }
  | { readonly type: 'call-args'; readonly callId: string; readonly delta: string }
  | { readonly type: 'call-end'; readonly callId: string }
  | {
      readonly type: 'call-result';
      readonly callId: string;
      /** The tool by the name that the model knows. */
      readonly tool: string;
      readonly messageId: string;
      readonly content: string;
      readonly isError: boolean;
      readonly artifact: ToolArtifact | undefined;
    }
  /** The whole thread after the turn. */
  | { readonly type: 'messages'; readonly messages: readonly ThreadMessage[] };
