import { useState } from 'react';
import { Chat } from './chat/chat.js';
import type { Conversation } from './chat/conversation.js';
import type { Link, LiveFeed } from './live/live-feed.js';
import { HeldChanges } from './panel/held-changes.js';
import { Timeline } from './panel/timeline.js';
import { Toolsets } from './panel/toolsets.js';
import { useStore } from './store.js';
import { age } from './text.js';
import { TokenDialog } from './token-dialog.js';
import { useNow } from './use-now.js';

interface AppProps {
  readonly conversation: Conversation;
  readonly feed: LiveFeed;
}

/** Which half a narrow screen shows; a wide one shows both. */
type Half = 'chat' | 'service';

export function App({ conversation, feed }: AppProps) {
  const { status, connections, entries, link } = useStore(feed.live);
  const [half, setHalf] = useState<Half>('chat');
  const [shownGeneration, setShownGeneration] = useState<number>();
  const now = useNow();
  const generation = status?.generation ?? 0;
  const showGeneration = (number: number) => {
    setHalf('service');
    setShownGeneration(number);
  };

  return (
    <div className="page" data-half={half}>
      <header className="top">
        <h1>mcp-agent-api</h1>
        <p className="live">
          <LinkMark link={link} />
          {status !== null && generation > 0 && status.builtAt !== null && (
            <>
              <strong>Generation {generation}</strong>
              <span className="quiet since">built {age(status.builtAt, now)}</span>
            </>
          )}
          {status !== null && generation === 0 && 'No generation yet'}
        </p>
        <nav className="halves" aria-label="Parts of the page">
          <button type="button" aria-pressed={half === 'chat'} onClick={() => setHalf('chat')}>
            Chat
          </button>
          <button type="button" aria-pressed={half === 'service'} onClick={() => setHalf('service')}>
            Toolsets
          </button>
        </nav>
      </header>
      <main>
        <Chat conversation={conversation} isReady={generation > 0} liveGeneration={generation} onShowGeneration={showGeneration} />
        <aside className="service" aria-label="The service">
          {link.kind === 'closed' && (
            <p className="failure" role="status">
              {link.why}
            </p>
          )}
          {status !== null && (
            <>
              <HeldChanges toolsets={status.toolsets} onDecided={() => feed.readNow()} now={now} />
              <section aria-labelledby="toolsets">
                <h2 id="toolsets">
                  Toolsets <span className="quiet">{status.toolsets.length}</span>
                </h2>
                {status.index.error !== null && (
                  <p className="failure" role="status">
                    The index could not be read; the last good one stays in use. <code>{status.index.error.code}</code>
                  </p>
                )}
                <Toolsets toolsets={status.toolsets} connections={connections} now={now} />
              </section>
              <section aria-labelledby="timeline">
                <h2 id="timeline">What happened</h2>
                <Timeline entries={entries} shownGeneration={shownGeneration} onShow={setShownGeneration} now={now} />
              </section>
            </>
          )}
        </aside>
      </main>
      <TokenDialog />
    </div>
  );
}

function LinkMark({ link }: { link: Link }) {
  const words = { connecting: 'Connecting', open: 'Live', closed: 'Not live' }[link.kind];
  return <span className="link-mark" data-link={link.kind} role="img" aria-label={words} title={words} />;
}
