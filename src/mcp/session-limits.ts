/** The times that a session keeps, in milliseconds. Tests scale them down; the defaults are those of the contract. */
export interface SessionLimits {
  /** How long the question for the protocol era may stay unanswered before an older server is assumed. */
  readonly probeMs: number;
  /** How long a socket, or the handshake on it, may take. */
  readonly connectMs: number;
  /** How long `connect` waits for the notification stream; proxies hold its headers back until the first byte. */
  readonly streamOpenMs: number;
  /** How long a tool call waits for a connection when there is none. */
  readonly callWaitMs: number;
  /** The first wait before a stream is opened again; it doubles from there. */
  readonly reopenMinMs: number;
  readonly reopenMaxMs: number;
  /** After a stream was open for this long, the wait starts small again. */
  readonly stableMs: number;
  /** How long a stream that the server refused is left alone. */
  readonly refusedMs: number;
  /** The age at which a watching session is replaced by a fresh one, and that of a polling one, which may have learnt to push. */
  readonly renewMs: number;
  readonly pollingRenewMs: number;
  /** The wait before a renewal that is likely to show something new: after a refused stream, or after a renewal that failed. */
  readonly renewSoonMs: number;
  /** How long a heartbeat may stay unanswered. */
  readonly heartbeatAnswerMs: number;
  /** How many users may have a session of their own where a toolset binds sessions to one caller, and how long one is kept unused. */
  readonly maxUserSessions: number;
  readonly userIdleMs: number;
}

export const DEFAULT_LIMITS: SessionLimits = {
  probeMs: 3_000,
  connectMs: 5_000,
  streamOpenMs: 1_000,
  callWaitMs: 2_000,
  reopenMinMs: 100,
  reopenMaxMs: 30_000,
  stableMs: 30_000,
  refusedMs: 60_000,
  renewMs: 3_600_000,
  pollingRenewMs: 600_000,
  renewSoonMs: 60_000,
  heartbeatAnswerMs: 10_000,
  maxUserSessions: 100,
  userIdleMs: 300_000,
};
