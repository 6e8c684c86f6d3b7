import type { ToolsetStatus } from '../../../src/core/status.js';
import type { Connections } from '../live/live-feed.js';
import { age, count } from '../text.js';
import { Credentials } from './credentials.js';

interface ToolsetsProps {
  /** As `GET /refresh` shows them: without `url` for those who may not see it. */
  readonly toolsets: readonly ToolsetStatus[];
  readonly connections: Connections | null;
  readonly now: number;
}

/** Every toolset: its state, what it speaks, how many tools it has, and how old its last complete list is. */
export function Toolsets({ toolsets, connections, now }: ToolsetsProps) {
  if (toolsets.length === 0) return <p className="quiet">The index names no toolset yet.</p>;
  return (
    <ul className="toolsets">
      {toolsets.map((toolset) => (
        <li key={toolset.name} className="toolset" data-state={toolset.state}>
          <Toolset toolset={toolset} connections={connections} now={now} />
        </li>
      ))}
    </ul>
  );
}

function Toolset({ toolset, connections, now }: { toolset: ToolsetStatus; connections: Connections | null; now: number }) {
  const { name, state, protocol, server, tools, listedAt, error, retryAt, flapping, missedSignals, held } = toolset;
  const wanted = connections?.toolsets.find((other) => other.name === name)?.credentials ?? [];
  const missing = wanted.some(({ supplied }) => !supplied);
  const shownTools = connections?.tools.filter((tool) => tool.toolset === name) ?? [];
  const withheld = connections?.withheld.filter((tool) => tool.toolset === name) ?? [];
  return (
    <details open={missing}>
      <summary>
        <span className="state-mark" />
        <span className="name">{name}</span>
        <span className="state">{state}</span>
        <span className="facts quiet">
          {[count(tools, 'tool'), protocol, listedAt === null ? 'never listed' : `listed ${age(listedAt, now)}`]
            .filter(Boolean)
            .join(' · ')}
        </span>
        {error !== null && (
          <span className="facts trouble">
            <code>{error.code}</code>
            {retryAt !== null && ` next try ${until(retryAt, now)}`}
            {tools > 0 && ' · its last good tools stay in use'}
          </span>
        )}
        {flapping && <span className="facts trouble">Flapping: changes too often, so its newest list waits.</span>}
        {held !== null && WAITS[held.reason] !== undefined && <span className="facts trouble">{WAITS[held.reason]}</span>}
      </summary>
      {error?.message !== undefined && <p className="trouble">{error.message}</p>}
      <HowChangesShow toolset={toolset} now={now} />
      {server !== null && (
        <p className="quiet">
          Server {server.name} {server.version}
          {missedSignals > 0 && ` · ${count(missedSignals, 'missed signal')}`}
        </p>
      )}
      {wanted.length > 0 && <Credentials toolset={name} wanted={wanted} />}
      <dl className="tools">
        {shownTools.map((tool) => (
          <div key={tool.name}>
            <dt>{tool.name}</dt>
            <dd>{tool.description}</dd>
          </div>
        ))}
        {withheld.map(({ tool, reason }) => (
          <div key={`withheld ${tool}`}>
            <dt>
              {tool} <span className="trouble">withheld</span>
            </dt>
            <dd>{reason}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Why the newest list of a toolset is not live; of a flapping one the line above says so. */
const WAITS: Readonly<Partial<Record<NonNullable<ToolsetStatus['held']>['reason'], string>>> = {
  empty: 'Its list is suddenly empty, which counts once it has been empty for 30 seconds.',
  rejected: 'No agent could be built with its newest list.',
  review: 'Its newest list waits for a decision.',
};

/** What has to happen before a change of this toolset shows, for its author who waits for one. */
function HowChangesShow({ toolset: { state, notifiedAt, nextListAt }, now }: { toolset: ToolsetStatus; now: number }) {
  if (state === 'polling') {
    return <p className="quiet">It cannot announce changes.{nextListAt !== null && ` Its next list is due ${until(nextListAt, now)}.`}</p>;
  }
  if (state !== 'watching') return null;
  return (
    <p className="quiet">{notifiedAt === null ? 'It has announced no change yet.' : `It announced a change ${age(notifiedAt, now)}.`}</p>
  );
}

function until(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1_000);
  if (seconds <= 0) return 'now';
  return seconds < 90 ? `in ${seconds} s` : `in ${Math.round(seconds / 60)} min`;
}
