import { existsSync } from 'node:fs';
import { arch, platform } from 'node:os';

/** Whether this version is at least 22.22, which the peers that do not run on Node 20 ask for. */
export function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 22);
}

/** The Node for peers that do not run on Node 20: the running one where it is new enough, or the one installed among the peers; undefined without either. */
export function newerNode(peerFolders: string): string | undefined {
  if (isEnough(process.version)) return process.execPath;
  const system = platform() === 'win32' ? 'win' : platform();
  const installed = `${peerFolders}node-22/node_modules/node-${system}-${arch()}/bin/node${system === 'win' ? '.exe' : ''}`;
  return existsSync(installed) ? installed : undefined;
}
