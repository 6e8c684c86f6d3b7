import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { Shown } from '../../dist/bench/peers/shown.js';

/** mcp-use's client with a session for each server. A session lists its tools again when it is notified, and then calls who listens. */
process.env.MCP_USE_ANONYMIZED_TELEMETRY = 'false';
const { MCPClient } = await import('mcp-use/client');
const shown = new Shown();

answerCommands({
  async start({ toolsets }) {
    const client = new MCPClient({ mcpServers: Object.fromEntries(toolsets.map(({ name, url }) => [name, { url }])) });
    const sessions = await client.createAllSessions();
    for (const [name, session] of Object.entries(sessions)) {
      shown.takes(name, session.tools[0]?.description);
      session.on('notification', ({ method }) => {
        if (method === 'notifications/tools/list_changed') shown.takes(name, session.tools[0]?.description);
      });
    }
  },
  serves: ({ toolset }) => shown.of(toolset),
});

liveWithParent();
