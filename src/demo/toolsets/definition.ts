import { z } from 'zod';

const dataFile = z.string().regex(/^[\w-]+\.(md|json)$/, 'must be the name of a file in demo/data');

/** What a demo tool does when it is called, and on which data. */
const action = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('search_sections'), documents: z.array(dataFile).min(1) }),
  z.strictObject({ action: z.literal('read_section'), documents: z.array(dataFile).min(1) }),
  z.strictObject({ action: z.literal('find_place'), places: dataFile }),
  z.strictObject({ action: z.literal('places_nearby'), places: dataFile }),
]);

const tool = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  inputSchema: z.looseObject({ type: z.literal('object'), properties: z.record(z.string(), z.record(z.string(), z.json())) }),
  does: action,
  /** The page, a file in demo/data, in which the result can be shown. */
  view: z
    .string()
    .regex(/^[\w-]+\.html$/, 'must be the name of an HTML file in demo/data')
    .optional(),
});

const definition = z.strictObject({
  version: z.string().min(1),
  tools: z.array(tool).refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'names a tool twice'),
});

export type DemoTool = Readonly<z.infer<typeof tool>>;

/** What a definition file says: the tools of one demo toolset. */
export type Definition = Readonly<z.infer<typeof definition>>;

/** Reads the text of a definition file. Throws an Error whose message says in one line what is wrong with it. */
export function parseDefinition(text: string): Definition {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text over several lines.
    throw new Error(text.trim() === '' ? 'the file is empty' : 'it is not valid JSON');
  }
  const result = definition.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new Error(`${issue?.path.join('.') || 'the definition'}: ${issue?.message ?? 'cannot be used'}`);
}
