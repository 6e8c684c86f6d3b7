import { secrets, setCredential } from '../secrets.js';
import { useStore } from '../store.js';

interface CredentialsProps {
  readonly toolset: string;
  readonly wanted: readonly { readonly header: string; readonly supplied: boolean }[];
}

/** The headers that a toolset wants from its users. What is entered is sent with each question, and lives in this page's memory only. */
export function Credentials({ toolset, wanted }: CredentialsProps) {
  const { credentials } = useStore(secrets);
  return (
    <div className="credentials">
      {wanted.map(({ header, supplied }) => {
        const key = header.toLowerCase();
        return (
          <label key={key}>
            <span>
              <code>{header}</code>{' '}
              <span className="quiet">{credentials[key] ? 'yours' : supplied ? 'the service has one' : 'wanted'}</span>
            </span>
            <input
              type="password"
              autoComplete="off"
              aria-label={`${header} for ${toolset}`}
              value={credentials[key] ?? ''}
              onChange={(event) => setCredential(key, event.target.value)}
            />
          </label>
        );
      })}
    </div>
  );
}
