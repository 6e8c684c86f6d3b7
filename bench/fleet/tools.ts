import { machineNow } from '../harness/clock.js';

/** What the first tool's description says: which revision it is and when the change was made (machine clock, milliseconds). */
export interface Stamp {
  readonly revision: number;
  readonly changedAt: number;
}

const SUBJECTS = ['documents', 'invoices', 'tickets', 'contacts', 'releases', 'shipments', 'meetings', 'contracts', 'incidents'];

/** The stamp in a description, or undefined where it carries none. */
export function stampOf(description: string | undefined): Stamp | undefined {
  const found = /\[revision (\d+) at ([\d.]+)\]/.exec(description ?? '');
  return found === null ? undefined : { revision: Number(found[1]), changedAt: Number(found[2]) };
}

/** The tools of one toolset. The first one's description carries the stamp of the revision; the others never change. */
export function toolsOf(toolset: string, { count, revision }: { count: number; revision: number }): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, number) => {
    const subject = SUBJECTS[number % SUBJECTS.length];
    const stamp = number === 0 ? ` [revision ${revision} at ${machineNow().toFixed(3)}]` : '';
    return {
      name: `${toolset}_find_${subject}_${number}`,
      title: `Find ${subject}`,
      description: `Finds ${subject} of ${toolset} by words, by date and by owner, and returns the best matches with a short extract of each.${stamp}`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: `Words to look for in the ${subject}.`, minLength: 1, maxLength: 400 },
          owner: { type: 'string', description: 'Only those of this person, by e-mail address.' },
          since: { type: 'string', format: 'date', description: 'Only those changed on this day or later.' },
          order: { type: 'string', enum: ['relevance', 'newest', 'oldest'], default: 'relevance' },
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
        },
        required: ['query'],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    };
  });
}
