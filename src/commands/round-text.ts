import type { DryRun, Round, Status } from './answers.js';
import { type Paint, type Style, shownNames, shownText } from './shown-text.js';

const STYLES: Readonly<Record<string, Style>> = {
  swapped: 'green',
  unchanged: 'dim',
  held: 'yellow',
  aborted: 'red',
  rejected: 'red',
  'would-swap': 'green',
  'would-reject': 'red',
  'would-hold': 'yellow',
  failed: 'red',
};

const MEANINGS: Readonly<Record<string, string>> = {
  swapped: 'the new tools are live',
  unchanged: 'nothing differs from what is live',
  held: 'what differs waits, and the live tools stay',
  aborted: 'a list failed, and the live tools stay',
  rejected: 'no agent could be built, and the live one stays',
  'would-swap': 'a refresh would make the new tools live',
  'would-reject': 'no agent could be built from it, and a refresh would change nothing',
  'would-hold': 'what differs would wait',
  failed: 'a list failed, and a refresh would change nothing',
};

/** Added where some toolset has not answered, and so nothing is known about what it offers now. */
const INCOMPLETE: Readonly<Record<string, string>> = {
  swapped: ', of those toolsets that answered',
  unchanged: ', as far as the toolsets answered',
};

/** A round's record in plain words, one thought a line. */
export function roundLines({ outcome, trigger, generation, round, durationMs, toolsets, changes, error }: Round, paint: Paint): string[] {
  return [
    `${paintOutcome(outcome, paint)}${toolsets.failing.length + toolsets.late.length > 0 ? (INCOMPLETE[outcome] ?? '') : ''}; round ${round} (${shownText(trigger)}, ${durationMs} ms), generation ${generation}`,
    ...namesLine('listed', toolsets.listed),
    ...changeLines(changes, paint),
    ...namesLine('waiting, not live yet', toolsets.held),
    ...namesLine('late, still being listed', toolsets.late),
    ...namesLine('failing, last tools in use', toolsets.failing),
    ...(error ? [`  ${paint('red', errorText(error))}`] : []),
  ];
}

/** The answer of a dry run in plain words. */
export function dryRunLines({ outcome, toolsets, changes }: DryRun, paint: Paint): string[] {
  return [
    `${paintOutcome(outcome, paint)} (dry run: nothing was changed)`,
    ...toolsets.map(({ name, outcome: own, classes, error }) => {
      const about = classes.length === 0 ? '' : ` (${shownNames(classes)})`;
      return `  ${shownText(name)}: ${shownText(own)}${about}${error ? `, ${errorText(error)}` : ''}`;
    }),
    ...changeLines(changes, paint),
  ];
}

/** Added, removed and changed tools, a sign and a line each. */
export function changeLines(changes: Round['changes'], paint: Paint): string[] {
  const signs = [
    ['added', '+', 'green'],
    ['removed', '-', 'red'],
    ['changed', '~', 'yellow'],
  ] as const;
  return signs.flatMap(([kind, sign, style]) => {
    const names = changes[kind];
    return names.length === 0 ? [] : [`  ${paint(style, `${sign} ${shownNames(names, 20)}`)}`];
  });
}

/** Why a complete list waits, and what ends that, by the words of `held.reason`. */
const WAITS: Readonly<Record<string, string>> = {
  review: 'its changes wait for a decision of an administrator, on the page or with POST /refresh/held/{fingerprint}/approve',
  empty: 'its list is suddenly empty, which counts once it has been empty for 30 seconds',
  flapping: 'it changed too often; its newest list counts within a minute, or at once with a refresh of this toolset',
  rejected: 'no agent could be built from its list; this is tried again',
};

/** Says of a toolset why its newest list is not live. */
export function heldText(name: string, { reason, fingerprint }: NonNullable<Status['toolsets'][number]['held']>): string {
  return `${shownText(name)} waits: ${WAITS[reason] ?? shownText(reason)}. The list that waits is ${shownText(fingerprint)}.`;
}

export function errorText(error: NonNullable<Round['error']>): string {
  const where = error.toolset === undefined ? '' : ` at ${shownText(error.toolset)}`;
  return `${shownText(error.code)}${where}${error.message === undefined ? '' : `: ${shownText(error.message)}`}`;
}

function paintOutcome(outcome: string, paint: Paint): string {
  const meaning = MEANINGS[outcome];
  const word = shownText(outcome);
  return `${paint(STYLES[outcome] ?? 'bold', word)}${meaning === undefined ? '' : `: ${meaning}`}`;
}

function namesLine(label: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`  ${label}: ${shownNames(names)}`];
}
