/** Between the start of the Gregorian calendar, where UUIDs count from, and 1970, in steps of 100 ns. */
const GREGORIAN_OFFSET = 0x01b21dd213814000n;

/**
 * The smallest id that a checkpoint written at this moment can have. Checkpoint ids are UUIDs of version 6, which sort by time as
 * text; so a thread's newest id says when it was written to last, in every saver and without a table of its own.
 */
export function firstCheckpointIdAt(at: Date): string {
  const hex = (BigInt(Math.floor(at.getTime())) * 10_000n + GREGORIAN_OFFSET).toString(16).padStart(15, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-6${hex.slice(12, 15)}`;
}
