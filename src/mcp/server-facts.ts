import type { Client } from '@modelcontextprotocol/client';

/** What the handshake told about the server. It stays the same for the life of the connection. */
export interface ServerFacts {
  /** `modern` is 2026-07-28 and later, `legacy` the versions before. */
  readonly era: 'modern' | 'legacy';
  readonly protocol: string;
  readonly server: { readonly name: string; readonly version: string } | undefined;
  readonly instructions: string | undefined;
  readonly declaresTools: boolean;
  /** Whether it tells when one resource that was subscribed to changes. */
  readonly subscribesResources: boolean;
  /** Whether it promises to tell when its tools or resources change. */
  readonly announces: boolean;
}

/** Reads the facts off a client that has finished its handshake. */
export function factsOf(client: Client): ServerFacts {
  const server = client.getServerVersion();
  const tools = client.getServerCapabilities()?.tools;
  const era = client.getProtocolEra() === 'modern' ? 'modern' : 'legacy';
  return {
    era,
    protocol: client.getNegotiatedProtocolVersion() ?? '',
    server: server === undefined ? undefined : { name: server.name, version: server.version },
    instructions: client.getInstructions(),
    declaresTools: tools !== undefined,
    subscribesResources: client.getServerCapabilities()?.resources?.subscribe === true,
    // In the 2026 era the acknowledged subscription says it; a server without tools has none to tell about.
    announces: era === 'modern' || tools === undefined || tools.listChanged === true,
  };
}
