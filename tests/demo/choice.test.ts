import { chooseTool, type OfferedTool } from '../../src/demo/choice.js';
import { parseDefinition } from '../../src/demo/toolsets/definition.js';
import { wordsOf } from '../../src/demo/words.js';
import { shippedDefinition } from '../support/shipped-demo.js';

function offeredBy(toolset: string, edit: (text: string) => string = (text) => text): OfferedTool[] {
  const definition = parseDefinition(edit(shippedDefinition(`${toolset}.json`).toString()));
  return definition.tools.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema }));
}

const SHIPPED = [...offeredBy('knowledge-base'), ...offeredBy('places')];
const WITH_ANNOUNCEMENTS = [
  ...offeredBy('knowledge-base', (text) => text.replace('Searches the manual and', 'Searches the manual and the announcements and')),
  ...offeredBy('places'),
];

test.each([
  ['What does the manual say about refreshing?', 'search_knowledge', { query: 'What does the manual say about refreshing?' }],
  ['Search the knowledge for polling', 'search_knowledge', { query: 'Search the knowledge for polling' }],
  ['Read the section about rounds', 'read_section', { title: 'rounds' }],
  ['Show me the section "Running conversations"', 'read_section', { title: 'Running conversations' }],
  ['Where is the Eiffel Tower?', 'find_place', { name: 'Eiffel Tower' }],
  ["What is Reykjavík's country?", 'find_place', { name: "Reykjavík's" }],
  ['Which places are near Vienna?', 'places_nearby', { name: 'Vienna' }],
  ['Places within 300 km of Paris, please', 'places_nearby', { name: 'Paris', kilometres: 300 }],
])('%s calls %s', (question, name, args) => {
  const choice = chooseTool(question, SHIPPED);
  expect(choice?.tool.name).toBe(name);
  expect(choice?.args).toEqual(args);
});

test.each([
  'Anything new in the announcements?',
  'Find the announcements',
  'Hello!',
  'What is your name?',
  'How is the weather tomorrow?',
  'What can you do?',
  '',
])('%j calls no tool', (question) => {
  expect(chooseTool(question, SHIPPED)).toBeUndefined();
});

test('a description that gains the announcements gains the question about them', () => {
  expect(chooseTool('Anything new in the announcements?', WITH_ANNOUNCEMENTS)).toMatchObject({
    tool: { name: 'search_knowledge' },
    args: { query: 'Anything new in the announcements?' },
  });
});

test('the order of the tools does not matter', () => {
  const question = 'What does the manual say about refreshing?';
  expect(chooseTool(question, [...SHIPPED].reverse())).toEqual(chooseTool(question, SHIPPED));
});

test('schemas that are odd are filled as far as they can be', () => {
  const tool = (parameters: OfferedTool['parameters']): OfferedTool => ({ name: 'paint_wall', description: 'Paints.', parameters });
  const argsFor = (parameters: OfferedTool['parameters']) => chooseTool('Paint the wall green', [tool(parameters)])?.args;
  expect(argsFor({})).toEqual({});
  expect(argsFor({ properties: null, required: 'x' })).toEqual({});
  expect(argsFor({ properties: { colour: { type: 'string' } } })).toEqual({ colour: 'green' });
  expect(argsFor({ properties: { colour: { type: 'string', enum: ['red', 'green'] } }, required: ['colour'] })).toEqual({
    colour: 'green',
  });
  expect(argsFor({ properties: { coats: { type: 'integer' } }, required: ['coats'] })).toEqual({ coats: 1 });
  expect(argsFor({ properties: { colour: true } })).toEqual({});
});

test.each([
  ['refreshing', 'refresh'],
  ['refreshes', 'refresh'],
  ['announcements', 'announcement'],
  ['polling', 'poll'],
  ['notifies', 'notify'],
  ['São', 'sao'],
  ["toolset's", 'toolsets'],
])('%s and %s are the same word', (one, other) => {
  expect(wordsOf(one)[0]?.stem).toBe(wordsOf(other)[0]?.stem);
});
