import type { JsonObject } from '../core/tool.js';
import { isObject } from './rpc-message.js';

/** What we use of a server's capabilities; the SDK is shown nothing else, so that nothing else can make it refuse the server. */
const CAPABILITIES = ['tools', 'resources', 'prompts'] as const;
const FLAGS = ['listChanged', 'subscribe'] as const;

const SERVER_INFO_META = 'io.modelcontextprotocol/serverInfo';

/**
 * Puts the result of `initialize` or `server/discover` into the form that the SDK insists on. Servers write null for what they
 * lack, `true` for an empty object, or leave their version out; none of that is a reason to do without their tools.
 */
export function tolerantResult(method: string, result: JsonObject): JsonObject {
  if (method === 'initialize') return { ...strictPart(result), serverInfo: infoOf(result.serverInfo) };
  // Without its versions the answer is not one of the 2026 era.
  if (method !== 'server/discover' || !Array.isArray(result.supportedVersions)) return result;
  const meta = isObject(result._meta) ? result._meta : {};
  return {
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    ...strictPart(result),
    _meta: { ...meta, [SERVER_INFO_META]: infoOf(meta[SERVER_INFO_META]) },
  };
}

function strictPart({ instructions, ...result }: JsonObject): JsonObject {
  return {
    ...result,
    capabilities: capabilitiesOf(result.capabilities),
    ...(typeof instructions === 'string' && { instructions }),
  };
}

function capabilitiesOf(declared: unknown): JsonObject {
  if (!isObject(declared)) return {};
  const found: [string, JsonObject][] = [];
  for (const name of CAPABILITIES) {
    const capability = declared[name];
    if (capability === undefined || capability === null || capability === false) continue;
    const flags = isObject(capability)
      ? FLAGS.flatMap((flag) => (typeof capability[flag] === 'boolean' ? [[flag, capability[flag]]] : []))
      : [];
    found.push([name, Object.fromEntries(flags)]);
  }
  return Object.fromEntries(found);
}

function infoOf(declared: unknown): JsonObject {
  const { name, version } = isObject(declared) ? declared : {};
  return { name: typeof name === 'string' ? name : 'unknown', version: typeof version === 'string' ? version : 'unknown' };
}
