/**
 * The id under which a model's answer is kept. LangGraph replaces the message of the same id, and some providers repeat their ids,
 * so an id that the thread holds already gets a number. The stream and the stored message ask with the same ids and get the same answer.
 */
export function freshId(id: string, taken: { has(id: string): boolean }): string {
  if (!taken.has(id)) return id;
  let number = 2;
  while (taken.has(`${id}-${number}`)) number += 1;
  return `${id}-${number}`;
}
