import type { DryRun, Round } from './answers.js';
import type { RefreshArguments } from './arguments.js';
import { judgeRound, whoWaits } from './refresh-verdict.js';
import { dryRunLines, errorText, heldText, roundLines } from './round-text.js';
import { Service } from './service.js';
import { painter, shownText } from './shown-text.js';
import { type CommandContext, CommandFailure, limitTime, pause } from './terminal.js';
import { findToken } from './token.js';

/** How long to wait before asking again whether every replica serves what is expected. */
const ASK_AGAIN_MS = 1_000;

/** What may pass while a toolset is deployed: with `--expect` the command then goes on asking. */
const PASSING: ReadonlySet<string> = new Set(['late', 'failing']);

const TOKENS = ['MCP_AGENT_API_REFRESH_TOKEN', 'MCP_AGENT_API_ADMIN_TOKEN', 'MCP_AGENT_API_TOKEN'] as const;

/**
 * Has a service refresh, waits for the outcome and prints it. Returns the exit code: 0 when what the toolsets offer now is live (with
 * `--expect`: on every replica), 1 when it is not, when a toolset fails, or when the time is over.
 */
export async function refresh(options: RefreshArguments, context: CommandContext): Promise<number> {
  const { terminal, clock, env } = context;
  const limit = limitTime(clock, options.timeoutSeconds * 1_000, context.signal);
  const progress: Progress = { waitingFor: undefined };
  try {
    const token = findToken({ env, variables: TOKENS, file: options.tokenFile });
    const service = new Service({ url: options.url, token, tokenVariable: TOKENS[0] });
    const task: Task = { options, context, service, signal: limit.signal, progress };
    return options.dry ? await tryOnce(task) : await refreshUntilServed(task);
  } catch (error) {
    if (limit.isOver) {
      const reason = progress.waitingFor === undefined ? '' : ` Last seen: ${progress.waitingFor}`;
      terminal.note(`Not done after ${options.timeoutSeconds} s.${reason}`);
    } else if (error instanceof CommandFailure) terminal.note(error.message);
    else if (!context.signal.aborted) throw error;
    return 1;
  } finally {
    limit.cancel();
  }
}

interface Progress {
  /** Why the last look was not the end, for the message when the time is over. */
  waitingFor: string | undefined;
}

interface Task {
  readonly options: RefreshArguments;
  readonly context: CommandContext;
  readonly service: Service;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

async function tryOnce(task: Task): Promise<number> {
  const { options, context, service, signal } = task;
  const { toolset, expect } = options;
  const answer = await service.tryRefresh({ toolset, signal });
  print(task, { answer, lines: dryRunLines(answer, painter(context.terminal.colours)) });
  if (answer.outcome !== 'would-swap' && answer.outcome !== 'unchanged') return 1;
  if (expect === undefined || servedBy(answer, options)) return 0;
  context.terminal.note(`The service sees another fingerprint than ${expect}.`);
  return 1;
}

function servedBy({ toolsets }: DryRun, { toolset, expect }: RefreshArguments): boolean {
  return toolsets.some(({ name, fingerprint }) => fingerprint === expect && (toolset === undefined || name === toolset));
}

/**
 * With `--expect` it asks for a refresh again and again: while a toolset is deployed, its old processes may answer for a while, and a load
 * balancer may send each request to another replica.
 */
async function refreshUntilServed(task: Task): Promise<number> {
  const { options, context, service, signal } = task;
  const { toolset, expect } = options;
  let printed: Round | undefined;
  for (;;) {
    const record = await service.refresh({ toolset, signal }).catch((error: unknown) => ignoreShortAbsence(task, { error, printed }));
    if (record !== undefined) {
      const verdict = judgeRound(record, toolset);
      if (verdict.kind !== 'ask-again' && printed?.outcome !== record.outcome) {
        print(task, { answer: record, lines: roundLines(record, painter(context.terminal.colours)) });
        printed = record;
      }
      if (verdict.kind === 'bad' && !(expect !== undefined && PASSING.has(verdict.why))) {
        await sayWhy(task, record);
        return 1;
      }
      if (verdict.kind === 'good' && expect === undefined) return 0;
      if (verdict.kind === 'ask-again') wait(task, verdict.reason);
      if (verdict.kind === 'bad' && record.error) wait(task, errorText(record.error));
    }
    if (expect !== undefined && record !== undefined) {
      const status = await service.status(signal).catch((error: unknown) => ignoreShortAbsence(task, { error, printed }));
      const waiting = status && whoWaits(status, { toolset, expect });
      if (status !== undefined && waiting === undefined) {
        context.terminal.note(`Served by ${status.replicas.length > 1 ? `all ${status.replicas.length} replicas` : status.instance}.`);
        return 0;
      }
      if (waiting !== undefined) wait(task, waiting);
    }
    await pause(context.clock, ASK_AGAIN_MS, signal);
  }
}

/** What the round's record does not say: why lists wait, and the errors of further toolsets that fail. */
async function sayWhy({ options, context, service, signal }: Task, round: Round): Promise<void> {
  const concerned = (names: readonly string[]) => names.filter((name) => options.toolset === undefined || name === options.toolset);
  const failing = concerned(round.toolsets.failing).filter((name) => name !== round.error?.toolset);
  const held = concerned(round.toolsets.held);
  if (failing.length + held.length === 0) return;
  const { toolsets } = await service.status(signal);
  for (const toolset of toolsets) {
    const { name, error } = toolset;
    if (error && failing.includes(name)) context.terminal.note(`${shownText(name)} fails: ${errorText({ ...error, toolset: undefined })}`);
    if (toolset.held && held.includes(name)) context.terminal.note(heldText(name, toolset.held));
  }
}

/** Says what is waited for, once each time that it changes. */
function wait({ context, progress }: Task, reason: string): void {
  if (progress.waitingFor !== reason) context.terminal.note(`Waiting: ${reason}`);
  progress.waitingFor = reason;
}

/** A replica that restarts between two requests is no reason to give up; one that never answered is. */
function ignoreShortAbsence(task: Task, { error, printed }: { error: unknown; printed: Round | undefined }): undefined {
  if (!(error instanceof CommandFailure) || error.kind !== 'away' || printed === undefined) throw error;
  wait(task, error.message);
  return undefined;
}

function print({ options, context }: Task, { answer, lines }: { answer: Round | DryRun; lines: readonly string[] }): void {
  if (options.json) context.terminal.out(JSON.stringify(answer));
  else for (const line of lines) context.terminal.out(line);
}
