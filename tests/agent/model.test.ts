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
  const providers = { anthropic: 'ANTHROPIC_API_KEY', openai: 'OPENAI_API_KEY' };
  for (const [provider, variable] of Object.entries(providers)) {
    const { [variable]: own } = process.env;
    delete process.env[variable];
    try {
      await expect(createModel({ model: `${provider}:m` })).rejects.toThrow(/Set PROVIDER_API_KEY\.$/);
      process.env[variable] = 'from the environment';
      await expect(createModel({ model: `${provider}:m` })).resolves.toBeDefined();
    } finally {
      delete process.env[variable];
      if (own !== undefined) process.env[variable] = own;
    }
  }
});

test('the base URL reaches the provider client of OpenAI and of Anthropic', async () => {
  const baseUrl = 'http://127.0.0.1:1/v1';
  expect(await createModel({ model: 'openai:m', apiKey: 'k', baseUrl })).toMatchObject({ clientConfig: { baseURL: baseUrl } });
  expect(await createModel({ model: 'anthropic:m', apiKey: 'k', baseUrl })).toMatchObject({ apiUrl: baseUrl });
});
