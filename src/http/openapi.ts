import type { RequestHandler } from 'express';
import { z } from 'zod';
import {
  connectionsSchema,
  eventSchema,
  generationSchema,
  generationsSchema,
  heldSchema,
  messageSchema,
  previewSchema,
  problemSchema,
  refreshStatusSchema,
  roundSchema,
  shownErrorSchema,
  threadSchema,
  toolsetSchema,
  turnsSchema,
} from './answer-schemas.js';
import { feedEventSchema } from './event-schemas.js';
import { type Access, problemStatuses, type RouteAnswer, type RouteDescription } from './route-description.js';
import { ROUTES } from './route-table.js';

/** The schemas that have a name in the document. */
const NAMED: Readonly<Record<string, z.ZodType>> = {
  Connections: connectionsSchema,
  Event: eventSchema,
  FeedEvent: feedEventSchema,
  Generation: generationSchema,
  Generations: generationsSchema,
  Held: heldSchema,
  Message: messageSchema,
  Preview: previewSchema,
  Problem: problemSchema,
  RefreshStatus: refreshStatusSchema,
  Round: roundSchema,
  ShownError: shownErrorSchema,
  Thread: threadSchema,
  Toolset: toolsetSchema,
  Turns: turnsSchema,
};

const COMPONENTS = '#/components/schemas/';

/** AG-UI's event schemas hold checks that no JSON Schema can express; those parts allow everything. */
const JSON_SCHEMA = { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' } as const;

export interface DocumentOptions {
  /** Where the routes are mounted. */
  readonly basePath: string;
  /** Whether a user has to send a bearer token. */
  readonly usersSendToken: boolean;
}

/** `GET /openapi.json`: the document of all routes, made from the table that the router serves and the schemas that validate (CONTRACT.md 9). */
export function openapiRoute({ usersSendToken }: { readonly usersSendToken: boolean }): RequestHandler {
  const documents = new Map<string, object>();
  return (req, res) => {
    const basePath = req.baseUrl === '' ? '/' : req.baseUrl;
    const document = documents.get(basePath) ?? describeRoutes({ basePath, usersSendToken });
    // A router has one place in its host, or a few; a path that the caller chooses must not fill the memory.
    if (documents.size < 10) documents.set(basePath, document);
    res.json(document);
  };
}

/** The OpenAPI 3.1 document. */
export function describeRoutes({ basePath, usersSendToken }: DocumentOptions): object {
  const schemaFor = namedSchemas();
  const paths: Record<string, Record<string, object>> = {};
  for (const [operationId, route] of Object.entries(ROUTES) as [string, RouteDescription][]) {
    const path = route.path.replace(/[:*](\w+)/g, '{$1}');
    const operation = { operationId, ...describeRoute(route, schemaFor.of), security: securityOf(route.access, usersSendToken) };
    paths[path] = { ...paths[path], [route.method]: operation };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'mcp-agent-api', version: '1', description: 'An agent whose MCP tools are never out of date.' },
    servers: [{ url: basePath }],
    paths,
    components: {
      schemas: schemaFor.components,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

type SchemaFor = (schema: z.ZodType) => object;

function describeRoute(route: RouteDescription, schemaFor: SchemaFor): object {
  const parameters = Object.entries(route.parameters ?? {}).map(([name, parameter]) => ({
    name,
    in: parameter.in,
    required: parameter.in === 'path',
    description: parameter.description,
    schema: schemaFor(parameter.schema),
  }));
  const { body } = route;
  const problem = { 'application/json': { schema: schemaFor(problemSchema) } };
  return {
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: body.presence === 'required', content: { 'application/json': { schema: schemaFor(body.schema) } } },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, answer]) => [status, describeAnswer(answer, schemaFor)])),
      ...Object.fromEntries(problemStatuses(route).map((status) => [status, { description: 'A problem.', content: problem }])),
    },
  };
}

function describeAnswer({ description, content, headers }: RouteAnswer, schemaFor: SchemaFor): object {
  const described = Object.entries(headers ?? {}).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]);
  return {
    description,
    ...(described.length > 0 && { headers: Object.fromEntries(described) }),
    content: Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [type, { schema: schema === null ? { type: 'string' } : schemaFor(schema) }]),
    ),
  };
}

function securityOf(access: Access, usersSendToken: boolean): object[] {
  if (access === 'open') return [];
  if (access === 'refresh' || access === 'admin' || usersSendToken) return [{ bearer: [] }];
  return [{}, { bearer: [] }];
}

/** The JSON Schemas of the named schemas, which refer to each other by name, and a function that answers the schema to write in one place. */
function namedSchemas(): { readonly components: Record<string, object>; readonly of: SchemaFor } {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...JSON_SCHEMA, uri: (id) => COMPONENTS + id });
  const components = Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, plain(schema)]));
  return {
    components,
    of: (schema) => {
      const id = registry.get(schema)?.id;
      return id === undefined ? plain(z.toJSONSchema(schema, JSON_SCHEMA)) : { $ref: COMPONENTS + id };
    },
  };
}

/** Without the fields that only a schema document of its own has. */
function plain({ $schema: _dialect, $id: _id, ...schema }: Record<string, unknown>): object {
  return schema;
}
