import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock, Logger } from '../core/ports.js';
import type { Replica, ReplicaEvents, ReplicaLink } from '../core/replicas.js';
import type { Sql } from './sql.js';

export const CHANNEL = 'mcp_agent_api';

const BEAT_MS = 10_000;
/** A replica that was not heard of for so long is not shown any more. */
const SILENT_MS = 35_000;
/** Replicas may differ for so long before it is reported: a change needs its time to reach all of them (CONTRACT.md 16.3). */
const DIFFER_MS = 60_000;

const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hint'), id: z.string(), instance: z.string(), toolset: z.string(), fingerprint: z.string() }),
  z.object({ kind: z.literal('serving'), id: z.string(), instance: z.string(), generation: z.number(), fingerprint: z.string() }),
  z.object({ kind: z.literal('left'), id: z.string() }),
]);
type Message = z.infer<typeof message>;

interface Known {
  readonly instance: string;
  readonly generation: number;
  readonly fingerprint: string | null;
  readonly heardAt: Date;
}

/**
 * How replicas speak to each other over one PostgreSQL: `NOTIFY` for what is new, and a table for what a replica that starts has to know.
 * Processes tell each other apart by an id of their own, because two of them may have the same name.
 */
export class PostgresReplicaLink implements ReplicaLink {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #instance: string;
  readonly #id = randomUUID();
  readonly #known = new Map<string, Known>();
  #events: ReplicaEvents | undefined;
  #serving: { readonly generation: number; readonly fingerprint: string } | undefined;
  #differSince: Date | null = null;
  #reported = false;
  #cancelBeat: () => void = () => undefined;

  constructor({ sql, clock, logger, instance }: { sql: Sql; clock: Clock; logger: Logger; instance: string }) {
    this.#sql = sql;
    this.#clock = clock;
    this.#logger = logger;
    this.#instance = instance;
  }

  listen(events: ReplicaEvents): void {
    this.#events = events;
    this.#beat();
  }

  hint({ toolset, fingerprint }: { readonly toolset: string; readonly fingerprint: string }): void {
    this.#send({ kind: 'hint', id: this.#id, instance: this.#instance, toolset, fingerprint });
  }

  serve(serving: { readonly generation: number; readonly fingerprint: string }): void {
    this.#serving = serving;
    this.#send({ kind: 'serving', id: this.#id, instance: this.#instance, ...serving });
    this.#beat();
  }

  replicas(): readonly Replica[] {
    return this.#alive()
      .map(({ instance, generation, fingerprint, heardAt }) => ({ instance, generation, fingerprint, at: heardAt.toISOString() }))
      .sort((a, b) => (a.instance < b.instance ? -1 : 1));
  }

  get differSince(): string | null {
    const since = this.#differSince;
    return since !== null && this.#clock.date().getTime() - since.getTime() >= DIFFER_MS ? since.toISOString() : null;
  }

  /** What came over the channel, from this process too. */
  receive(payload: string): void {
    const said = parse(payload);
    if (said === undefined || said.id === this.#id) return;
    switch (said.kind) {
      case 'hint':
        this.#events?.hint({ toolset: said.toolset, fingerprint: said.fingerprint, instance: said.instance });
        return;
      case 'serving':
        this.#known.set(said.id, { ...said, heardAt: this.#clock.date() });
        this.#compare();
        return;
      case 'left':
        this.#known.delete(said.id);
        this.#compare();
        return;
    }
  }

  reopened(): void {
    this.#beat();
    this.#events?.reconnected();
  }

  async close(): Promise<void> {
    this.#cancelBeat();
    try {
      await this.#sql.rows('DELETE FROM mcp_agent_replicas WHERE id = $1', [this.#id]);
      await this.#notify({ kind: 'left', id: this.#id });
    } catch {
      // Without the store nobody can be told; the others stop showing this replica when they hear nothing of it.
    }
  }

  #send(said: Message): void {
    this.#notify(said).catch(() => {
      // Hints are only hints: the others poll, and after a lost connection everything is listed once.
    });
  }

  #notify(said: Message) {
    return this.#sql.rows('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(said)]);
  }

  /** Writes down what this replica serves, reads what the others do, and comes again. */
  #beat(): void {
    this.#cancelBeat();
    this.#cancelBeat = this.#clock.after(BEAT_MS * (0.9 + 0.2 * this.#clock.random()), () => this.#beat());
    this.#exchange().then(
      () => this.#compare(),
      () => {
        // The next beat comes anyway, and the loss of the connection is logged where it is noticed.
      },
    );
  }

  async #exchange(): Promise<void> {
    const serving = this.#serving;
    if (serving !== undefined) {
      await this.#sql.rows(
        `INSERT INTO mcp_agent_replicas (id, instance, generation, fingerprint, at) VALUES ($1, $2, CAST($3 AS BIGINT), $4, now())
         ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, fingerprint = excluded.fingerprint, at = now()`,
        [this.#id, this.#instance, serving.generation, serving.fingerprint],
      );
      await this.#sql.rows("DELETE FROM mcp_agent_replicas WHERE at < now() - interval '10 minutes'");
    }
    const rows = await this.#sql.rows(
      'SELECT id, instance, generation, fingerprint, EXTRACT(EPOCH FROM now() - at) * 1000 AS age FROM mcp_agent_replicas WHERE id <> $1',
      [this.#id],
    );
    const now = this.#clock.date().getTime();
    for (const { id, instance, generation, fingerprint, age } of rows) {
      const known = this.#known.get(String(id));
      // Ages are measured by the database's clock alone, so that the clocks of the machines need not agree.
      const heardAt = new Date(now - Math.max(0, Number(age)));
      if (known !== undefined && known.heardAt >= heardAt) continue;
      this.#known.set(String(id), {
        instance: String(instance),
        generation: Number(generation),
        fingerprint: fingerprint === null ? null : String(fingerprint),
        heardAt,
      });
    }
  }

  #alive(): Known[] {
    const now = this.#clock.date();
    for (const [id, { heardAt }] of this.#known) if (now.getTime() - heardAt.getTime() > SILENT_MS) this.#known.delete(id);
    const own: Known = {
      instance: this.#instance,
      generation: this.#serving?.generation ?? 0,
      fingerprint: this.#serving?.fingerprint ?? null,
      heardAt: now,
    };
    return [own, ...this.#known.values()];
  }

  #compare(): void {
    const alive = this.#alive();
    const fingerprints = new Set(alive.flatMap(({ fingerprint }) => (fingerprint === null ? [] : [fingerprint])));
    if (fingerprints.size < 2) {
      this.#differSince = null;
      this.#reported = false;
      return;
    }
    this.#differSince ??= this.#clock.date();
    if (this.differSince === null || this.#reported) return;
    this.#reported = true;
    this.#logger.warn('replicas differ', { since: this.differSince, replicas: this.replicas() });
  }
}

function parse(payload: string): Message | undefined {
  try {
    return message.safeParse(JSON.parse(payload)).data;
  } catch {
    // Whatever else is said on the channel is not for us.
    return undefined;
  }
}
