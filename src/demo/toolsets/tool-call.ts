import type { Definition, DemoTool } from './definition.js';
import { findSection, readSections, type Section, searchSections } from './documents.js';
import { findPlace, type Place, placesNearby, readPlaces } from './place-list.js';
import { viewUri } from './views.js';

/** The result of a tool call, as MCP puts it. */
export interface CallResult {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  /** The places that were found, for the view. */
  readonly structuredContent?: { readonly places: readonly (Place & { readonly kilometres?: number })[] };
  readonly isError?: boolean;
}

/** The definition's tools as `tools/list` shows them: without what they do. */
export function listedTools(toolset: string, definition: Definition) {
  return definition.tools.map((tool) => {
    const { name, description, inputSchema } = tool;
    const resourceUri = viewUri(toolset, tool);
    return { name, description, inputSchema, ...(resourceUri !== undefined && { _meta: { ui: { resourceUri } } }) };
  });
}

/** Runs a tool of the definition on the data in `dataDir`. Undefined when the definition has no tool of that name. */
export function callTool(options: {
  readonly definition: Definition;
  readonly dataDir: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}): CallResult | undefined {
  const tool = options.definition.tools.find((candidate) => candidate.name === options.name);
  if (tool === undefined) return undefined;
  const subject = subjectOf(tool, options.args);
  if (subject === undefined) return failure('This tool needs a text to look for.');
  const { does } = tool;
  switch (does.action) {
    case 'search_sections':
      return search(readSections(options.dataDir, does.documents), subject, options.args.section);
    case 'read_section':
      return read(readSections(options.dataDir, does.documents), subject);
    case 'find_place':
      return locate(readPlaces(options.dataDir, does.places), subject);
    case 'places_nearby':
      return listNearby(readPlaces(options.dataDir, does.places), subject, options.args.kilometres);
  }
}

/** The value of the first string parameter of the tool's schema, whatever its name: the file may be edited to call it differently. */
function subjectOf(tool: DemoTool, args: Readonly<Record<string, unknown>>): string | undefined {
  const name = Object.entries(tool.inputSchema.properties).find(([, property]) => property.type === 'string')?.[0];
  const value = name === undefined ? undefined : args[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function search(sections: readonly Section[], query: string, section: unknown): CallResult {
  const only = typeof section === 'string' && section !== '' ? findSection(sections, section) : undefined;
  const found = only === undefined ? searchSections(sections, query) : [only];
  if (found.length > 0) return success(found.map(shownSection).join('\n\n'));
  return success(`Nothing fits "${query}". ${titlesOf(sections)}`);
}

function read(sections: readonly Section[], title: string): CallResult {
  const section = findSection(sections, title);
  return section === undefined ? failure(`There is no section "${title}". ${titlesOf(sections)}`) : success(shownSection(section));
}

function shownSection({ document, title, text }: Section): string {
  return `${title} (from the ${document})\n${text}`;
}

function titlesOf(sections: readonly Section[]): string {
  return `The sections are: ${sections.map(({ title }) => title).join('; ')}.`;
}

const DEFAULT_KILOMETRES = 500;

function locate(places: readonly Place[], name: string): CallResult {
  const place = findPlace(places, name);
  return place === undefined ? unknownPlace(places, name) : { ...success(shownPlace(place)), structuredContent: { places: [place] } };
}

function listNearby(places: readonly Place[], name: string, within: unknown): CallResult {
  const centre = findPlace(places, name);
  if (centre === undefined) return unknownPlace(places, name);
  const kilometres = typeof within === 'number' && within > 0 ? within : DEFAULT_KILOMETRES;
  const found = placesNearby(places, centre, kilometres);
  if (found.length === 0) return success(`I know no other place within ${kilometres} km of ${centre.name}.`);
  const lines = found.map((near) => `- ${near.place.name}, ${near.place.country}: ${Math.round(near.kilometres)} km`);
  const shown = [centre, ...found.map((near) => ({ ...near.place, kilometres: near.kilometres }))];
  return { ...success(`Within ${kilometres} km of ${centre.name}:\n${lines.join('\n')}`), structuredContent: { places: shown } };
}

function shownPlace({ name, country, latitude, longitude, about }: Place): string {
  return `${name}, ${country} (${latitude}, ${longitude}). ${about}`;
}

function unknownPlace(places: readonly Place[], name: string): CallResult {
  return failure(`I do not know the place "${name}". I know: ${places.map((place) => place.name).join(', ')}.`);
}

function success(text: string): CallResult {
  return { content: [{ type: 'text', text }] };
}

function failure(text: string): CallResult {
  return { content: [{ type: 'text', text }], isError: true };
}
