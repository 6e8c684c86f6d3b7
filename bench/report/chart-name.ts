/** The file name of a goal's chart. */
export function chartName({ goal }: { readonly goal: string }): string {
  return `${goal.toLowerCase()}.svg`;
}
