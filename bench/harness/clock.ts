/** Milliseconds of the machine's monotonic clock. All processes of one machine read the same clock, so times may be compared across them. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
