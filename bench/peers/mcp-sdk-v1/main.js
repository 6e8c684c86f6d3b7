import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { answerCommands, liveWithParent } from '../../dist/bench/harness/commands.js';
import { Shown } from '../../dist/bench/peers/shown.js';

/** The MCP SDK's first client with its own answer to changed lists and default settings. */
const shown = new Shown();
const clients = [];

answerCommands({
  async start({ toolsets }) {
    const left = [...toolsets];
    // As many at a time as the floor opens.
    const work = async () => {
      for (let toolset = left.shift(); toolset !== undefined; toolset = left.shift()) await open(toolset);
    };
    await Promise.all(Array.from({ length: 8 }, work));
  },
  serves: ({ toolset }) => shown.of(toolset),
});

async function open({ name, url }) {
  const client = new Client(
    { name: 'peer', version: '1.0.0' },
    {
      listChanged: {
        tools: {
          onChanged: (_error, tools) => {
            // With an error there are no tools, and what was shown stays.
            if (tools) shown.takes(name, tools[0]?.description);
          },
        },
      },
    },
  );
  clients.push(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  shown.takes(name, tools[0]?.description);
}

liveWithParent();
