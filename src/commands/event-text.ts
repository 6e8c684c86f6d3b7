import { type FeedEvent, feedEventSchemas, type GenerationDetail, type Status } from './answers.js';
import { changeLines, errorText, roundLines } from './round-text.js';
import { type Paint, type Style, shownNames, shownText, shownTime } from './shown-text.js';

/** How many lines of a generation's diff are printed; `GET /generations/{n}` has the rest. */
const MOST_DIFF_LINES = 60;

const NO_CHANGES = { added: [], removed: [], changed: [] };

const STATES: Readonly<Record<string, Style>> = { watching: 'green', polling: 'cyan', connecting: 'yellow', failing: 'red', closed: 'dim' };

/** The status in plain words: the live generation, and a line for each toolset. */
export function statusLines({ instance, generation, fingerprint, replicas, toolsets, index }: Status, paint: Paint): string[] {
  const others = replicas.length > 1 ? `, ${replicas.length} replicas` : '';
  const width = Math.max(0, ...toolsets.map(({ name }) => shownText(name).length));
  return [
    `${paint('bold', shownText(instance))}: generation ${generation}${others}, ${paint('dim', fingerprint ?? 'no tools yet')}`,
    ...(index?.error ? [`  ${paint('red', `the index cannot be read: ${errorText(index.error)}`)}`] : []),
    ...toolsets.map((toolset) => {
      const { name, state, tools, protocol, held, error } = toolset;
      const details = [tools === 1 ? '1 tool' : `${tools} tools`, protocol ?? '', ...timesOf(toolset)];
      const waiting = held ? paint('yellow', `held: ${shownText(held.reason)}`) : '';
      const failure = error ? paint('red', errorText({ ...error, toolset: undefined })) : '';
      const shown = [...details, waiting, failure].filter((part) => part !== '').join(', ');
      return `  ${shownText(name).padEnd(width)}  ${paintState(state, paint)}  ${shown}`;
    }),
  ];
}

/** When the toolset was listed, and what brings the next list: what its author needs whose change does not show. */
function timesOf({ state, listedAt, nextListAt, notifiedAt, retryAt }: Status['toolsets'][number]): string[] {
  const listed = shownTime(listedAt) === '' ? 'never listed' : `listed ${shownTime(listedAt)}`;
  const next = shownTime(state === 'failing' ? retryAt : nextListAt);
  switch (state) {
    case 'watching':
      return [listed, shownTime(notifiedAt) === '' ? 'announced no change yet' : `announced a change ${shownTime(notifiedAt)}`];
    case 'polling':
      return [listed, next === '' ? 'cannot announce changes' : `cannot announce changes, next list ${next}`];
    case 'failing':
      return [listed, next === '' ? '' : `next try ${next}`];
    default:
      return [];
  }
}

/** An event in plain words. What a newer service adds is printed by its type only. */
export function eventLines(event: FeedEvent, paint: Paint): string[] {
  const [first = '', ...rest] = bodyOf(event, paint);
  return [`${paint('dim', shownTime(event.at))} ${first}`.trimStart(), ...rest];
}

/** The changed tools of a generation, each with the lines that differ. */
export function diffLines({ tools }: GenerationDetail, paint: Paint): string[] {
  const lines = tools.flatMap(({ name, toolset, classes, diff }) => [
    `  ${paint('bold', shownText(name))} of ${shownText(toolset)}${classes.length === 0 ? '' : ` (${shownNames(classes)})`}`,
    ...diff.flatMap(({ field, lines: changed }) => [`    ${shownText(field)}`, ...changed.map((line) => `    ${diffLine(line, paint)}`)]),
  ]);
  if (lines.length <= MOST_DIFF_LINES) return lines;
  return [...lines.slice(0, MOST_DIFF_LINES), paint('dim', `  … ${lines.length - MOST_DIFF_LINES} more lines`)];
}

function diffLine({ kind, text }: { kind: string; text: string }, paint: Paint): string {
  const shown = shownText(text);
  if (kind === 'added') return paint('green', `+ ${shown}`);
  if (kind === 'removed') return paint('red', `- ${shown}`);
  return paint('dim', kind === 'skipped' ? `  … ${shown} unchanged lines` : `  ${shown}`);
}

function bodyOf(event: FeedEvent, paint: Paint): string[] {
  const { round, generation, toolset, missed, held, decision, view, index, released } = feedEventSchemas;
  switch (event.type) {
    case 'round': {
      const parsed = round.safeParse(event);
      if (!parsed.success) return unknown(event);
      // The generation that a swap makes is the next event, and it names the tools.
      return roundLines(parsed.data.outcome === 'swapped' ? { ...parsed.data, changes: NO_CHANGES } : parsed.data, paint);
    }
    case 'generation': {
      const parsed = generation.safeParse(event);
      if (!parsed.success) return unknown(event);
      const { number, trigger, changes } = parsed.data;
      return [`${paint('green', `generation ${number}`)} is live (${shownText(trigger)})`, ...changeLines(changes, paint)];
    }
    case 'toolset': {
      const parsed = toolset.safeParse(event);
      if (!parsed.success) return unknown(event);
      const { from, to, code } = parsed.data;
      const was = from ? `${paintState(from, paint)} → ` : '';
      return [`${shownText(parsed.data.toolset)}: ${was}${paintState(to, paint)}${code ? ` ${paint('red', shownText(code))}` : ''}`];
    }
    case 'missed': {
      const parsed = missed.safeParse(event);
      if (!parsed.success) return unknown(event);
      return [`${shownText(parsed.data.toolset)}: ${paint('yellow', 'did not announce a change')}, which a poll found`];
    }
    case 'held': {
      const parsed = held.safeParse(event);
      if (!parsed.success) return unknown(event);
      const { reason, fingerprint, classes } = parsed.data;
      const about = classes.length === 0 ? '' : `, ${shownNames(classes)}`;
      return [`${shownText(parsed.data.toolset)}: ${paint('yellow', 'held')} (${shownText(reason)}${about}) ${shownText(fingerprint)}`];
    }
    case 'decision': {
      const parsed = decision.safeParse(event);
      if (!parsed.success) return unknown(event);
      return [`${shownText(parsed.data.toolset)}: ${shownText(parsed.data.decision)} ${shownText(parsed.data.fingerprint)}`];
    }
    case 'view': {
      const parsed = view.safeParse(event);
      return parsed.success ? [`${shownText(parsed.data.toolset)}: the view ${shownText(parsed.data.uri)} changed`] : unknown(event);
    }
    case 'index': {
      const parsed = index.safeParse(event);
      if (!parsed.success) return unknown(event);
      const { code } = parsed.data;
      return [code ? `index: ${paint('red', shownText(code))}` : 'index: readable again'];
    }
    case 'released': {
      const parsed = released.safeParse(event);
      return parsed.success ? [paint('dim', `generation ${parsed.data.generation} has no runs left`)] : unknown(event);
    }
    default:
      return unknown(event);
  }
}

/** The number of the generation that an event announces; undefined for any other event. */
export function numberOf(event: FeedEvent): number | undefined {
  const parsed = event.type === 'generation' ? feedEventSchemas.generation.safeParse(event) : undefined;
  return parsed?.data?.number;
}

function unknown({ type }: FeedEvent): string[] {
  return [shownText(type)];
}

function paintState(state: string, paint: Paint): string {
  return paint(STATES[state] ?? 'bold', shownText(state));
}
