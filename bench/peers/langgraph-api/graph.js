import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';

/** The agent that the server serves: LangChain's, with the toolsets through LangChain's own MCP adapters, as its documentation shows. */
const toolsets = JSON.parse(process.env.BENCH_TOOLSETS);
const client = new MultiServerMCPClient({
  mcpServers: Object.fromEntries(toolsets.map(({ name, url }) => [name, { transport: 'http', url }])),
});

export const graph = createAgent({
  model: new ChatOpenAI({ model: 'bench', apiKey: 'bench', configuration: { baseURL: process.env.BENCH_MODEL_URL } }),
  tools: await client.getTools(),
  systemPrompt: 'You are a helpful assistant.',
});
