import { type KeyboardEvent, type SubmitEvent, useEffect, useRef, useState } from 'react';
import { useStore } from '../store.js';
import type { Conversation } from './conversation.js';
import { TurnView } from './turn-view.js';

interface ChatProps {
  readonly conversation: Conversation;
  /** Whether there is an agent that can be asked. */
  readonly isReady: boolean;
  /** The newest generation, to mark answers of older ones. */
  readonly liveGeneration: number;
  readonly onShowGeneration: (generation: number) => void;
}

export function Chat({ conversation, isReady, liveGeneration, onShowGeneration }: ChatProps) {
  const turns = useStore(conversation.turns);
  const end = useRef<HTMLDivElement>(null);
  const length = turns.reduce(
    (sum, { pieces }) => sum + pieces.length + pieces.reduce((all, piece) => all + sizeOf(piece), 0),
    turns.length,
  );

  useEffect(() => {
    if (length > 0) end.current?.scrollIntoView({ block: 'end' });
  }, [length]);

  return (
    <section className="chat" aria-label="Conversation">
      <div className="turns" aria-live="polite">
        {turns.length === 0 && <Welcome />}
        {turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} liveGeneration={liveGeneration} onShowGeneration={onShowGeneration} />
        ))}
        <div ref={end} />
      </div>
      <Composer conversation={conversation} isReady={isReady} hasTurns={turns.length > 0} />
    </section>
  );
}

function sizeOf(piece: { text: string } | { result: string | null }): number {
  return 'text' in piece ? piece.text.length : (piece.result?.length ?? 0);
}

function Welcome() {
  return (
    <div className="welcome">
      <h2>Ask the agent</h2>
      <p>It answers with the tools that its toolsets offer at this moment. Change a toolset, and the next answer knows.</p>
    </div>
  );
}

function Composer({ conversation, isReady, hasTurns }: { conversation: Conversation; isReady: boolean; hasTurns: boolean }) {
  const [question, setQuestion] = useState('');
  const isRunning = useStore(conversation.isRunning);
  const canAsk = isReady && !isRunning && question.trim() !== '';

  const ask = () => {
    if (!canAsk) return;
    setQuestion('');
    void conversation.ask(question.trim());
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    ask();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter while an input method is composing a word belongs to that word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    ask();
  };

  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        aria-label="Your question"
        placeholder={isReady ? 'Ask a question' : 'Waiting for the first generation'}
        rows={2}
        value={question}
        onChange={(event) => setQuestion(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="composer-actions">
        <button type="button" className="plain" disabled={!hasTurns} onClick={() => conversation.startAnew()}>
          New conversation
        </button>
        {isRunning ? (
          <button type="button" onClick={() => conversation.stop()}>
            Stop
          </button>
        ) : (
          <button type="submit" className="primary" disabled={!canAsk}>
            Ask
          </button>
        )}
      </div>
    </form>
  );
}
