import type { AddressInfo } from 'node:net';
import { type BaseEvent, EventType } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import { AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import express, { type Request, type Response } from 'express';
import { createAgent } from 'langchain';
import { answerCommands, liveWithParent } from '../harness/commands.js';

/**
 * What a careful developer writes by hand instead of this product, where tools never change: the same LangGraph agent, model client and
 * MCP client, in one Express route that streams AG-UI events. The tools are listed once, at the start.
 */

const encoder = new EventEncoder();

answerCommands({
  async start({ toolsets, modelUrl }: { toolsets: { name: string; url: string }[]; modelUrl: string }) {
    const tools = (await Promise.all(toolsets.map(({ url }) => toolsOf(url)))).flat();
    const model = new ChatOpenAI({ model: 'bench', apiKey: 'bench', configuration: { baseURL: modelUrl }, maxRetries: 2 });
    const agent = createAgent({ model, tools, checkpointer: new MemorySaver(), systemPrompt: 'You are a helpful assistant.' });
    const app = express();
    app.use(express.json({ limit: '10mb' }));
    app.post('/runs', (req, res) => void run(agent, req, res));
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  },
});

liveWithParent();

async function toolsOf(url: string) {
  const client = new Client({ name: 'hand-written', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  return tools.map(({ name, description = name, inputSchema }) =>
    tool(
      async (args, { signal }: { signal?: AbortSignal }) => {
        const { content } = await client.callTool({ name, arguments: args as Record<string, unknown> }, { signal });
        return (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
      },
      { name, description, schema: inputSchema as Record<string, unknown> },
    ),
  );
}

async function run(agent: ReturnType<typeof createAgent>, req: Request, res: Response): Promise<void> {
  const { threadId, runId, messages } = req.body as { threadId: string; runId: string; messages: { id: string; content: string }[] };
  const question = messages.at(-1);
  if (question === undefined) return void res.status(422).json({ detail: 'There is no message.' });
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
  const send = (event: BaseEvent) => void res.write(encoder.encodeSSE(event));
  send({ type: EventType.RUN_STARTED, threadId, runId });
  try {
    const input = { messages: [new HumanMessage({ id: question.id, content: question.content })] };
    const config = { configurable: { thread_id: threadId }, signal: gone.signal, streamMode: 'messages' as const, recursionLimit: 100 };
    let openText: string | undefined;
    const openCalls: string[] = [];
    const close = () => {
      if (openText !== undefined) send({ type: EventType.TEXT_MESSAGE_END, messageId: openText });
      for (const toolCallId of openCalls.splice(0)) send({ type: EventType.TOOL_CALL_END, toolCallId });
      openText = undefined;
    };
    for await (const [message] of await agent.stream(input, config)) {
      if (ToolMessage.isInstance(message)) {
        close();
        const result = { messageId: message.id ?? '', toolCallId: message.tool_call_id, content: message.text, role: 'tool' };
        send({ type: EventType.TOOL_CALL_RESULT, ...result });
      } else if (AIMessageChunk.isInstance(message)) {
        const messageId = message.id ?? '';
        for (const call of message.tool_call_chunks ?? []) {
          if (call.id) {
            openCalls.push(call.id);
            send({ type: EventType.TOOL_CALL_START, toolCallId: call.id, toolCallName: call.name ?? '', parentMessageId: messageId });
          }
          if (call.args) send({ type: EventType.TOOL_CALL_ARGS, toolCallId: openCalls.at(-1) ?? '', delta: call.args });
        }
        if (message.text === '') continue;
        if (openText === undefined) send({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' });
        openText = messageId;
        send({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: message.text });
      }
    }
    close();
    send({ type: EventType.RUN_FINISHED, threadId, runId });
  } catch {
    // The client is told; a developer's own log would get the error.
    send({ type: EventType.RUN_ERROR, message: 'The run failed.' });
  }
  res.end();
}
