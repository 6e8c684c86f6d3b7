import './strict-policy.js';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { Conversation } from './chat/conversation.js';
import { LiveFeed } from './live/live-feed.js';
import './style.css';

const place = document.getElementById('page');
if (place !== null) {
  const feed = new LiveFeed();
  feed.start();
  createRoot(place).render(<App conversation={new Conversation()} feed={feed} />);
}
