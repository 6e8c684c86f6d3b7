import { createModel, ModelUnavailable } from '../../src/agent/model.js';

test.each([
  ['gpt-5', /has to be provider:model/],
  ['openai:', /has to be provider:model/],
  ['nobody:model', /knows no provider named nobody/],
  ['google_genai:gemini-3', /npm install @langchain\/google-genai$/],
  ['google-genai:gemini-3', /npm install @langchain\/google-genai$/],
  ['mistralai:large', /npm install @langchain\/mistralai$/],
])('%s is refused with one line that says what to do', async (model, expected) => {
  const refusal = createModel({ model });
  await expect(refusal).rejects.toThrow(ModelUnavailable);
  await expect(refusal).rejects.toThrow(expected);
  await expect(refusal).rejects.not.toThrow(/\n/);
});

test('a missing API key is named where the provider package wants one', async () => {
  const { ANTHROPIC_API_KEY: own } = process.env;
  delete process.env.ANTHROPIC_API_KEY;
  try {
    await expect(createModel({ model: 'anthropic:m' })).rejects.toThrow(/Set PROVIDER_API_KEY\.$/);
  } finally {
    if (own !== undefined) process.env.ANTHROPIC_API_KEY = own;
  }
});

test('the base URL reaches the provider client of OpenAI and of Anthropic', async () => {
  const baseUrl = 'http://127.0.0.1:1/v1';
  expect(await createModel({ model: 'openai:m', apiKey: 'k', baseUrl })).toMatchObject({ clientConfig: { baseURL: baseUrl } });
  expect(await createModel({ model: 'anthropic:m', apiKey: 'k', baseUrl })).toMatchObject({ apiUrl: baseUrl });
});
