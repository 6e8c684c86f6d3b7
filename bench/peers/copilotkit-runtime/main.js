import { once } from 'node:events';
import { createOpenAI } from '@ai-sdk/openai';
import { BuiltInAgent, CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotExpressHandler } from '@copilotkit/runtime/v2/express';
import express from 'express';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';

/** CopilotKit's runtime with its built-in agent and MCP servers, mounted in Express, as its documentation shows. Telemetry is off by the environment. */
answerCommands({
  async start({ toolsets, modelUrl }) {
    const agent = new BuiltInAgent({
      model: createOpenAI({ baseURL: modelUrl, apiKey: 'bench' }).chat('bench'),
      prompt: 'You are a helpful assistant.',
      // Its default of one step ends a turn with the tool call.
      maxSteps: 10,
      mcpServers: toolsets.map(({ url }) => ({ type: 'http', url })),
    });
    const runtime = new CopilotRuntime({ agents: { default: agent } });
    const app = express();
    app.use(createCopilotExpressHandler({ runtime, basePath: '/api/copilotkit' }));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { baseUrl: `http://127.0.0.1:${server.address().port}` };
  },
});

liveWithParent();
