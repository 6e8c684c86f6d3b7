import { createHash } from 'node:crypto';
import type { CodedError } from '../core/errors.js';
import { type Place, Places } from '../core/places.js';
import type { Clock } from '../core/ports.js';
import type { Connection } from './connection.js';
import { unlessAborted } from './time-limit.js';

export type UserHeaders = Readonly<Record<string, string>>;

export interface UserSessionsOptions {
  readonly clock: Clock;
  readonly maxUserSessions: number;
  readonly userIdleMs: number;
  /** Makes a connection whose every request carries these headers. */
  readonly open: (headers: UserHeaders, signal: AbortSignal) => Promise<Connection>;
}

/** A connection of one user, for one call. Call `leave` when the call is over; leaving twice is harmless. */
export interface UserSession {
  readonly connection: Connection;
  /** `lost`: the server no longer knows the session, so the next call gets a new one. */
  leave(session: 'known' | 'lost'): void;
}

interface Member {
  readonly key: string;
  readonly place: Place;
  readonly connection: Promise<Connection>;
  calls: number;
  cancelIdle: () => void;
}

/**
 * The connections of those users whose toolset binds a session to one caller (CONTRACT.md 7.6): one for each set of credentials.
 * There are only so many; the one that was used longest ago makes room, and one that is not used for a while is closed.
 */
export class UserSessions {
  readonly #options: UserSessionsOptions;
  readonly #places: Places;
  /** By the digest of the credentials, the one used last at the end. */
  readonly #members = new Map<string, Member>();
  readonly #closing = new Set<Promise<void>>();
  readonly #life = new AbortController();
  #waiting = 0;

  constructor(options: UserSessionsOptions) {
    this.#options = options;
    this.#places = new Places({ total: options.maxUserSessions });
  }

  get size(): number {
    return this.#members.size;
  }

  /** The connection of the user with these credentials, made if there is none. Rejects with the signal's reason when it is not there in time. */
  async take(headers: UserHeaders, signal: AbortSignal): Promise<UserSession> {
    const member = await this.#enter(headers, signal);
    let inside = true;
    const leave = (session: 'known' | 'lost') => {
      if (!inside) return;
      inside = false;
      this.#leave(member, session);
    };
    try {
      return { connection: await unlessAborted(member.connection, signal), leave };
    } catch (error) {
      leave('known');
      throw error;
    }
  }

  /** Closes every connection once its last call is over; later calls get new ones. */
  retireAll(): void {
    for (const member of [...this.#members.values()]) this.#drop(member, 'known');
  }

  /** Closes every connection now, and waits for it. */
  async close(error: CodedError): Promise<void> {
    this.#life.abort(error);
    const open = [...this.#members.values()];
    // An attempt that is under way was told to stop; how it ends does not matter.
    await Promise.all(open.map(({ connection }) => connection.then((opened) => opened.close('known')).catch(() => undefined)));
    this.retireAll();
    await Promise.all(this.#closing);
  }

  async #enter(headers: UserHeaders, signal: AbortSignal): Promise<Member> {
    const key = digestOf(headers);
    const known = this.#join(key);
    if (known !== undefined) return known;
    if (this.#members.size >= this.#options.maxUserSessions) this.#dropOldestIdle();
    this.#waiting += 1;
    const place = await this.#places.take({ origin: '', signal }).finally(() => {
      this.#waiting -= 1;
    });
    // Another call of the same user may have come first.
    const joined = this.#join(key);
    if (joined !== undefined) {
      place.leave();
      return joined;
    }
    const connection = this.#options.open(headers, this.#life.signal);
    const member: Member = { key, place, connection, calls: 1, cancelIdle: () => undefined };
    this.#members.set(key, member);
    // The caller sees the failure; here it only means that the next call tries anew.
    connection.catch(() => this.#drop(member, 'lost'));
    return member;
  }

  #join(key: string): Member | undefined {
    const member = this.#members.get(key);
    if (member === undefined) return undefined;
    member.cancelIdle();
    member.calls += 1;
    this.#members.delete(key);
    this.#members.set(key, member);
    return member;
  }

  #leave(member: Member, session: 'known' | 'lost'): void {
    member.calls -= 1;
    if (session === 'lost') this.#drop(member, 'lost');
    if (member.calls > 0 || this.#members.get(member.key) !== member) return;
    if (this.#waiting > 0) this.#drop(member, 'known');
    else member.cancelIdle = this.#options.clock.after(this.#options.userIdleMs, () => this.#drop(member, 'known'));
  }

  #dropOldestIdle(): void {
    for (const member of this.#members.values()) {
      if (member.calls > 0) continue;
      this.#drop(member, 'known');
      return;
    }
  }

  /** Gives the connection up; it ends after its last call, and only then makes room for another one. */
  #drop(member: Member, session: 'known' | 'lost'): void {
    if (this.#members.get(member.key) !== member) return;
    this.#members.delete(member.key);
    member.cancelIdle();
    const closing = member.connection
      .then((connection) => connection.retire(session))
      // A connection that was never made, or cannot be closed in order, holds up nobody.
      .catch(() => undefined)
      .finally(() => {
        this.#closing.delete(closing);
        member.place.leave();
      });
    this.#closing.add(closing);
  }
}

/** Tells users apart without keeping their credentials. */
export function digestOf(headers: UserHeaders): string {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return createHash('sha256').update(JSON.stringify(entries.sort())).digest('hex');
}
