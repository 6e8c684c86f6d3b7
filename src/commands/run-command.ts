import type { ClientCommand } from './arguments.js';
import { printFingerprint } from './fingerprint.js';
import { refresh } from './refresh.js';
import type { CommandContext } from './terminal.js';
import { watch } from './watch.js';

/** Carries out a command and returns its exit code. Rejects only for a mistake in this program. */
export function runCommand(command: ClientCommand, context: CommandContext): Promise<number> {
  switch (command.kind) {
    case 'watch':
      return watch(command, context);
    case 'refresh':
      return refresh(command, context);
    case 'fingerprint':
      return printFingerprint(command, context);
  }
}
