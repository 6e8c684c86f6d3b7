import { randomUUID } from 'node:crypto';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel, type BaseChatModelCallOptions, type BindToolsInput } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, type ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { chooseTool, type OfferedTool, type ToolChoice } from './choice.js';

interface DemoModelCallOptions extends BaseChatModelCallOptions {
  readonly offered?: readonly OfferedTool[];
}

type Reply = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'call'; readonly choice: ToolChoice };

/**
 * The demo's model: no network, no learning, no chance. It picks the tool whose name and description best match the question's
 * words, fills the tool's parameters from the question, and then answers with what the tool returned. So a changed
 * description changes what it does, as with a real model.
 */
export class DemoModel extends BaseChatModel<DemoModelCallOptions> {
  static override lc_name(): string {
    return 'DemoModel';
  }

  constructor() {
    super({});
  }

  override _llmType(): string {
    return 'demo';
  }

  override bindTools(tools: BindToolsInput[], kwargs: Partial<DemoModelCallOptions> = {}) {
    return this.withConfig({ ...kwargs, offered: tools.map(offered) });
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    const reply = replyTo(messages, options.offered ?? []);
    const message =
      reply.kind === 'text' ? new AIMessage(reply.text) : new AIMessage({ content: '', tool_calls: [toolCall(reply.choice)] });
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = replyTo(messages, options.offered ?? []);
    if (reply.kind === 'call') {
      const { name, args, id } = toolCall(reply.choice);
      const chunk = { name, args: JSON.stringify(args), id, index: 0, type: 'tool_call_chunk' as const };
      yield new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content: '', tool_call_chunks: [chunk] }) });
      return;
    }
    for (const token of reply.text.match(/\s*\S+|\s+$/g) ?? []) {
      options.signal?.throwIfAborted();
      const chunk = new ChatGenerationChunk({ text: token, message: new AIMessageChunk(token) });
      yield chunk;
      await runManager?.handleLLMNewToken(token, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function offered(tool: BindToolsInput): OfferedTool {
  const { name, description, parameters } = convertToOpenAITool(tool).function;
  return { name, description: description ?? '', parameters: { ...parameters } };
}

function toolCall({ tool, args }: ToolChoice) {
  return { name: tool.name, args: { ...args }, id: `call_${randomUUID()}`, type: 'tool_call' as const };
}

function replyTo(messages: readonly BaseMessage[], tools: readonly OfferedTool[]): Reply {
  const askedAt = messages.findLastIndex((message) => message.type === 'human');
  const results = messages.slice(askedAt + 1).filter((message): message is ToolMessage => message.type === 'tool');
  if (results.length > 0) return { kind: 'text', text: results.map(answerOf).join('\n\n') };
  const choice = chooseTool(messages[askedAt]?.text ?? '', tools);
  if (choice !== undefined) return { kind: 'call', choice };
  const names = tools.length === 0 ? 'I have no tools at all.' : `I have: ${tools.map((tool) => tool.name).join(', ')}.`;
  return { kind: 'text', text: `None of my tools fits this question: no word of it stands in a name or a description. ${names}` };
}

function answerOf(result: ToolMessage): string {
  const verb = result.status === 'error' ? 'failed' : 'answered';
  return `${result.name ?? 'The tool'} ${verb}:\n\n${result.text}`;
}
