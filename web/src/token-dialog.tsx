import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { secrets, setToken, tokenRequest } from './secrets.js';
import { useStore } from './store.js';

/** Asks for a token when the API wants one. It stays in this page's memory. */
export function TokenDialog() {
  const request = useStore(tokenRequest);
  const { token } = useStore(secrets);
  const [value, setValue] = useState('');
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    if (request === 'none') dialog.current?.close();
    else if (!dialog.current?.open) dialog.current?.showModal();
  }, [request]);

  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    if (value.trim() === '') return;
    setToken(value.trim());
    setValue('');
  };

  return (
    <dialog ref={dialog} aria-labelledby="token-title" onClose={() => tokenRequest.set('none')}>
      <form onSubmit={onSubmit}>
        <h2 id="token-title">{request === 'admin' ? 'Administrator token' : 'Token'}</h2>
        <p>
          {token !== '' && 'The token was refused. '}
          {request === 'admin'
            ? 'To decide about changes, enter the value of MCP_AGENT_API_ADMIN_TOKEN; then decide again.'
            : 'This service wants a token: the value of MCP_AGENT_API_TOKEN, or the administrator’s.'}{' '}
          It is kept in this page’s memory only.
        </p>
        <label>
          Token
          <input type="password" autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
        </label>
        <div className="actions">
          <button type="button" className="plain" onClick={() => tokenRequest.set('none')}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={value.trim() === ''}>
            Use this token
          </button>
        </div>
      </form>
    </dialog>
  );
}
