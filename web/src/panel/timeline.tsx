import type { ReactNode } from 'react';
import type { RoundRecord } from '../../../src/core/status.js';
import type { FeedEvent } from '../../../src/http/event-schemas.js';
import type { Entry, EventOf } from '../live/entries.js';
import { age, changesInWords } from '../text.js';
import { GenerationDetails } from './generation-details.js';

interface TimelineProps {
  readonly entries: readonly Entry[];
  /** The generation whose changes are shown. */
  readonly shownGeneration: number | undefined;
  readonly onShow: (generation: number | undefined) => void;
  readonly now: number;
}

/** Rounds, generations and everything else that happened, newest first. A generation opens to show what it changed. */
export function Timeline({ entries, shownGeneration, onShow, now }: TimelineProps) {
  const isListed = entries.some(({ event }) => event.type === 'generation' && event.number === shownGeneration);
  return (
    <>
      {shownGeneration !== undefined && !isListed && (
        <div className="shown-generation">
          <button type="button" className="plain" onClick={() => onShow(undefined)}>
            Close generation {shownGeneration}
          </button>
          <GenerationDetails number={shownGeneration} />
        </div>
      )}
      {entries.length === 0 && <p className="quiet">Nothing yet.</p>}
      <ol className="timeline" aria-live="polite" aria-relevant="additions">
        {entries.map(({ key, event }) => (
          <li key={key} data-kind={markOf(event)}>
            {event.type === 'generation' ? (
              <GenerationEntry generation={event} isShown={event.number === shownGeneration} onShow={onShow} />
            ) : (
              <p>{wordsFor(event)}</p>
            )}
            <time className="quiet" dateTime={event.at} title={new Date(event.at).toLocaleString()}>
              {age(event.at, now)}
            </time>
          </li>
        ))}
      </ol>
    </>
  );
}

interface GenerationEntryProps {
  readonly generation: EventOf<'generation'>;
  readonly isShown: boolean;
  readonly onShow: (generation: number | undefined) => void;
}

function GenerationEntry({ generation: { number, trigger, swapped, changes }, isShown, onShow }: GenerationEntryProps) {
  return (
    <div className="generation">
      <p>
        <button type="button" className="link" aria-expanded={isShown} onClick={() => onShow(isShown ? undefined : number)}>
          Generation {number}
        </button>{' '}
        {trigger === 'start' ? 'at the start' : `after ${TRIGGERS[trigger]}`}
        {swapped.length > 0 && trigger !== 'start' && ` of ${swapped.join(', ')}`}: {changesInWords(changes)}
      </p>
      {isShown && <GenerationDetails number={number} />}
    </div>
  );
}

const TRIGGERS: Readonly<Record<RoundRecord['trigger'], string>> = {
  start: 'the start',
  notification: 'a notification',
  reconnect: 'a reconnect',
  poll: 'a poll',
  index: 'a change of the index',
  manual: 'a request',
  review: 'a review',
  replica: 'a hint from a replica',
};

const WAITS: Readonly<Record<EventOf<'held'>['reason'], string>> = {
  empty: ': its list is suddenly empty',
  flapping: ': it changes too often',
  rejected: ': no agent can be built with it',
  review: ' for a decision',
};

function wordsFor(event: Exclude<FeedEvent, { type: 'generation' }>): ReactNode {
  switch (event.type) {
    case 'round':
      return wordsForRound(event);
    case 'toolset':
      return (
        <>
          <b>{event.toolset}</b> is {event.to}
          {event.code !== null && (
            <>
              {' '}
              <code>{event.code}</code>
            </>
          )}
        </>
      );
    case 'missed':
      return (
        <>
          <b>{event.toolset}</b> changed without saying so
        </>
      );
    case 'held':
      return (
        <>
          A change of <b>{event.toolset}</b> waits{WAITS[event.reason]}
        </>
      );
    case 'decision':
      return (
        <>
          A change of <b>{event.toolset}</b> was {event.decision}
        </>
      );
    case 'view':
      return (
        <>
          View <code>{event.uri}</code> of <b>{event.toolset}</b> has new content
        </>
      );
    case 'index':
      return event.code === null ? (
        'The index was read again'
      ) : (
        <>
          The index could not be read <code>{event.code}</code>
        </>
      );
    case 'released':
      return `The last run on generation ${event.generation} has ended`;
  }
}

function wordsForRound({ outcome, trigger, toolsets, error }: RoundRecord): ReactNode {
  const after = (names: readonly string[]) => `after ${TRIGGERS[trigger]}${names.length === 0 ? '' : ` of ${names.join(', ')}`}`;
  if (outcome === 'unchanged') return `No change ${after(toolsets.listed)}`;
  if (outcome === 'held') return `A change waits ${after(toolsets.held)}`;
  return (
    <>
      Round {outcome} {after(outcome === 'aborted' ? toolsets.failing : toolsets.listed)}
      {error !== null && (
        <>
          {' '}
          <code>{error.code}</code>
        </>
      )}
    </>
  );
}

/** Which mark a line has: what to look at first, what failed, and what is only mentioned. */
function markOf(event: FeedEvent): 'new' | 'bad' | 'waits' | 'minor' {
  switch (event.type) {
    case 'generation':
      return 'new';
    case 'round':
      return event.outcome === 'aborted' || event.outcome === 'rejected' ? 'bad' : 'minor';
    case 'toolset':
      return event.to === 'failing' ? 'bad' : 'minor';
    case 'missed':
      return 'bad';
    case 'held':
      return 'waits';
    case 'index':
      return event.code === null ? 'minor' : 'bad';
    default:
      return 'minor';
  }
}
