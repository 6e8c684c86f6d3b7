import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { generate } from 'selfsigned';
import { onCleanup } from './cleanup.js';

/** A certificate that nobody but itself vouches for, and its key, both as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;

/** Makes a certificate for an address; `expired` ended a day ago. */
export async function makeCertificate({ host = '127.0.0.1', validity = 'valid' as 'valid' | 'expired' } = {}): Promise<Certificate> {
  const now = Date.now();
  const name = host === '127.0.0.1' ? { type: 7 as const, ip: host } : { type: 2 as const, value: host };
  const made = await generate([{ name: 'commonName', value: host }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - 30 * DAY_MS),
    notAfterDate: new Date(now + (validity === 'expired' ? -DAY_MS : 30 * DAY_MS)),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [name] },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** Serves a port of 127.0.0.1 over TLS; answers the origin, `https://127.0.0.1:<port>`. It ends with the test. */
export async function startTlsFront(
  targetPort: number,
  certificate: Certificate,
): Promise<{ readonly origin: string; readonly host: string }> {
  const open = new Set<Socket>();
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (client) => {
    const target = connect(targetPort, '127.0.0.1');
    client.on('error', () => target.destroy()).on('close', () => target.destroy());
    target.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(target).pipe(client);
  });
  // A client that does not accept the certificate hangs up in the middle of the handshake.
  server.on('tlsClientError', () => undefined);
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  );
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin: `https://${host}`, host };
}
