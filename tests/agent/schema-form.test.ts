import { MemorySaver } from '@langchain/langgraph';
import { buildAgent } from '../../src/agent/build-agent.js';
import { createModel } from '../../src/agent/model.js';
import { assembleCatalog } from '../../src/core/catalog.js';
import { snapshotOf } from '../support/tool-arbitraries.js';

test.each([
  ['openai', { type: 'integer', exclusiveMinimum: 0 }],
  ['googlegenai', { type: 'integer', minimum: 1 }],
  ['vertexai', { type: 'integer', minimum: 1 }],
])('a model of the kind %s is shown schemas in a form that its provider accepts (6.3)', async (kind, shown) => {
  const model = await createModel({ model: 'openai:m', apiKey: 'k' });
  model._llmType = () => kind;
  const inputSchema = { type: 'object', properties: { count: { type: 'integer', exclusiveMinimum: 0 } } };
  const catalog = assembleCatalog([snapshotOf({ tools: [{ name: 'a', inputSchema }] })]);
  const sessions = { call: async () => ({ content: [], isError: false }) };
  const { tools } = buildAgent({ catalog, sessions, model, checkpointer: new MemorySaver() });
  expect(tools[0]?.parameters).toEqual({ type: 'object', properties: { count: shown } });
});
