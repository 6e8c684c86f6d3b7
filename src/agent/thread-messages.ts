import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';

/** A message of a thread in the form of AG-UI, for snapshots and for reading a thread back. */
export type ThreadMessage =
  | { readonly id: string; readonly role: 'user'; readonly content: string }
  | {
      readonly id: string;
      readonly role: 'assistant';
      readonly content?: string;
      readonly toolCalls?: readonly {
        readonly id: string;
        readonly type: 'function';
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly id: string; readonly role: 'tool'; readonly content: string; readonly toolCallId: string; readonly error?: string };

/** The messages of a thread; its ids are those that were streamed. Kinds that have no form in AG-UI (a host's system messages) are left out. */
export function toThreadMessages(messages: readonly BaseMessage[]): ThreadMessage[] {
  return messages.flatMap((message): ThreadMessage[] => {
    const id = message.id ?? '';
    if (HumanMessage.isInstance(message)) return [{ id, role: 'user', content: textOf(message) }];
    if (ToolMessage.isInstance(message)) {
      const content = textOf(message);
      const error = message.status === 'error' ? { error: content } : {};
      return [{ id, role: 'tool', content, toolCallId: message.tool_call_id, ...error }];
    }
    if (!AIMessage.isInstance(message)) return [];
    const content = textOf(message);
    const toolCalls = (message.tool_calls ?? []).map((call) => ({
      id: call.id ?? '',
      type: 'function' as const,
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    }));
    return [{ id, role: 'assistant', ...(content === '' ? {} : { content }), ...(toolCalls.length === 0 ? {} : { toolCalls }) }];
  });
}

/** The text of a message; an image is named, since clients of a text stream cannot show it. */
export function textOf(message: BaseMessage): string {
  if (typeof message.content === 'string') return message.content;
  const texts = message.content.map((block) => {
    if (block.type === 'text') return String(block.text ?? '');
    return block.type === 'image_url' || block.type === 'image' ? '[image]' : '';
  });
  return ToolMessage.isInstance(message) ? texts.filter((text) => text !== '').join('\n') : texts.join('');
}
