import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { initChatModel, MODEL_PROVIDER_CONFIG } from 'langchain/chat_models/universal';

export interface ModelOptions {
  /** `provider:model`, for example `openai:gpt-5-mini`. */
  readonly model: string;
  readonly apiKey?: string;
  /** The base URL of an API that is compatible with the provider's. */
  readonly baseUrl?: string;
  /** How often a model call that failed is repeated before the run fails; 2 unless given. */
  readonly maxRetries?: number;
}

/** Where OpenAI's client looks for a key that it was not given. */
const OPENAI_KEYS = ['OPENAI_API_KEY', 'OPENAI_ADMIN_KEY'];

/** The model cannot be made from the configuration. The message is one line for the person who starts the service. */
export class ModelUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ModelUnavailable';
  }
}

/** Makes the chat model of PROVIDER_MODEL (CONTRACT.md 10). Throws {@link ModelUnavailable}, which names what to set or to install. */
export async function createModel(options: ModelOptions): Promise<BaseChatModel> {
  const { provider, name } = splitModel(options.model);
  const packages: Partial<Record<string, { package: string }>> = MODEL_PROVIDER_CONFIG;
  const packageName = packages[provider]?.package;
  if (packageName === undefined) {
    throw new ModelUnavailable(`PROVIDER_MODEL is ${options.model}, and LangChain knows no provider named ${provider}.`);
  }
  if (provider === 'openai' && !options.apiKey && !OPENAI_KEYS.some((name) => process.env[name])) {
    // OpenAI's client asks for a key at the first call only, and so a service would start whose every turn fails.
    throw new ModelUnavailable(`PROVIDER_MODEL is ${options.model}, and its API key is missing. Set PROVIDER_API_KEY.`);
  }
  try {
    const model = await initChatModel(`${provider}:${name}`, settingsFor(provider, options));
    // A configurable model asks its provider package at the first call only; asking now lets a missing package stop the start.
    return (await model._getModelInstance()) as unknown as BaseChatModel;
  } catch (error) {
    throw unavailable(error, { packageName, model: options.model });
  }
}

/** Python's LangChain writes `google_genai` where this one writes `google-genai`; both are accepted. */
function splitModel(model: string): { provider: string; name: string } {
  const at = model.indexOf(':');
  if (at < 1 || at === model.length - 1) {
    throw new ModelUnavailable(`PROVIDER_MODEL is ${JSON.stringify(model)}; it has to be provider:model, for example openai:gpt-5-mini.`);
  }
  const provider = model.slice(0, at);
  return { provider: provider.startsWith('google_') ? provider.replaceAll('_', '-') : provider, name: model.slice(at + 1) };
}

function settingsFor(provider: string, { apiKey, baseUrl, maxRetries = 2 }: ModelOptions): Record<string, unknown> {
  const settings: Record<string, unknown> = { maxRetries };
  if (apiKey) settings.apiKey = apiKey;
  if (baseUrl) Object.assign(settings, baseUrlSetting(provider, baseUrl));
  return settings;
}

/** Each provider package has its own name for the base URL; those that speak OpenAI's API take `configuration`. */
function baseUrlSetting(provider: string, baseUrl: string): Record<string, unknown> {
  if (provider === 'anthropic') return { anthropicApiUrl: baseUrl };
  if (provider.startsWith('google') || provider === 'ollama') return { baseUrl };
  if (provider.startsWith('mistral')) return { serverURL: baseUrl };
  return { configuration: { baseURL: baseUrl } };
}

/** LangChain's own errors for a missing package are several lines long and depend on how modules are loaded. */
function unavailable(error: unknown, { packageName, model }: { packageName: string; model: string }): ModelUnavailable {
  const text = error instanceof Error ? error.message : String(error);
  const say = (what: string) => new ModelUnavailable(`PROVIDER_MODEL is ${model}, ${what}`, error);
  if (/Unable to import|Cannot find (package|module)/.test(text))
    return say(`whose package is not installed. Install it: npm install ${packageName}`);
  if (/api ?key|credentials/i.test(text)) return say('and its API key is missing. Set PROVIDER_API_KEY.');
  return say('and the model cannot be made from it.');
}
