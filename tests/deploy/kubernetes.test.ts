import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { ConfigMap, type IConfigMap, type IService, Service } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { effectiveValues } from '../../src/config/effective-values.js';
import { readConfig } from '../../src/config.js';
import { ROUTES } from '../../src/http/route-table.js';
import { onCleanup } from '../support/cleanup.js';

const FOLDER = 'deploy/kubernetes';
const run = promisify(execFile);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

const manifests: readonly Manifest[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .sort()
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => {
      expect([file, document.errors, document.warnings]).toEqual([file, [], []]);
      return document.toJS() as Manifest;
    }),
  );

function theOnly<M extends Manifest>(kind: string): M {
  const [found, ...more] = manifests.filter((manifest) => manifest.kind === kind);
  expect([found?.kind, more]).toEqual([kind, []]);
  return found as M;
}

const deployment = theOnly<IDeployment>('Deployment');
const service = theOnly<IService>('Service');
const settings = theOnly<IConfigMap>('ConfigMap').data ?? {};
const pod = deployment.spec?.template.spec;
const [container, ...sidecars] = pod?.containers ?? [];

/** The settings that belong in the Secret; the folder's README.md says how it is made. */
const SECRETS = ['MCP_AGENT_API_ADMIN_TOKEN', 'MCP_AGENT_API_REFRESH_TOKENS', 'MCP_AGENT_API_TOKEN', 'PROVIDER_API_KEY'];

describe('the schemas of Kubernetes', () => {
  test('accept every value of the manifests', () => {
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(['ConfigMap', 'Deployment', 'Service']);
    expect(() => new Deployment(deployment).validate()).not.toThrow();
    expect(() => new Service(service).validate()).not.toThrow();
    expect(() => new ConfigMap(theOnly<IConfigMap>('ConfigMap')).validate()).not.toThrow();
  });

  test('know every field of the manifests', async () => {
    // A field that does not exist passes the validation above, as Kubernetes would drop it in silence. The compiler refuses it.
    const folder = await mkdtemp(join(tmpdir(), 'mcp-agent-api-manifests-'));
    onCleanup(() => rm(folder, { recursive: true }));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const checked = (found: readonly Manifest[]) =>
      [
        "import type { IDeployment } from 'kubernetes-models/apps/v1';",
        "import type { IConfigMap, IService } from 'kubernetes-models/v1';",
        ...found.map((manifest, index) => `export const manifest${index}: I${manifest.kind} = ${JSON.stringify(manifest, undefined, 1)};`),
      ].join('\n');
    const misspelt = JSON.parse(JSON.stringify(deployment).replace('"resources"', '"resorces"')) as Manifest;
    await writeFile(join(folder, 'manifests.mts'), checked(manifests));
    await writeFile(join(folder, 'misspelt.mts'), checked([misspelt]));
    const compiler = resolve('node_modules/typescript/bin/tsc');
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--ignoreConfig'];
    const { stdout } = await run(process.execPath, [compiler, ...flags, 'manifests.mts', 'misspelt.mts'], { cwd: folder }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
    );
    expect(stdout.split('\n').filter((line) => line.includes('error'))).toEqual([expect.stringMatching(/^misspelt\.mts.*resorces/)]);
  }, 60_000);
});

describe('the settings', () => {
  const config = readConfig({ ...settings, PROVIDER_API_KEY: 'key', MCP_AGENT_API_TOKEN: 'token' });

  test('are every variable of the service that is no secret, and no other', () => {
    expect([...Object.keys(settings), ...SECRETS].sort()).toEqual(Object.keys(effectiveValues(config)).sort());
  });

  test('are the defaults, but for what a cluster needs', () => {
    const asDefault = readConfig({ MCP_URL: settings.MCP_URL, PROVIDER_MODEL: settings.PROVIDER_MODEL });
    const { host, drainSeconds, ui, token, provider, ...rest } = config;
    expect(asDefault).toMatchObject(rest);
    expect({ host, drainSeconds, ui }).toEqual({ host: '0.0.0.0', drainSeconds: 120, ui: 'off' });
  });

  test('come from the ConfigMap, and then from the Secret, whose values win', () => {
    expect(container?.env).toBeUndefined();
    expect(container?.envFrom).toEqual([{ configMapRef: { name: 'mcp-agent-api' } }, { secretRef: { name: 'mcp-agent-api' } }]);
    expect(theOnly<IConfigMap>('ConfigMap').metadata?.name).toBe('mcp-agent-api');
    // Kubernetes would add MCP_AGENT_API_PORT and the like, named after the Service.
    expect(pod?.enableServiceLinks).toBe(false);
  });

  test('are for one replica while threads are in memory', () => {
    expect([config.checkpoint, deployment.spec?.replicas]).toEqual(['memory', 1]);
  });
});

test('the README names every setting of the Secret, and every file', () => {
  const page = readFileSync(join(FOLDER, 'README.md'), 'utf8');
  const names = [...readdirSync(FOLDER).filter((file) => file.endsWith('.yaml')), ...SECRETS, 'MCP_AGENT_CHECKPOINT'];
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});

describe('the pod', () => {
  test('gives running turns their time: the preStop pause, the drain and what closing takes end before the grace period', () => {
    const pause = container?.lifecycle?.preStop?.sleep?.seconds ?? Number.NaN;
    const drain = Number(settings.MCP_AGENT_API_DRAIN_SECONDS);
    const grace = pod?.terminationGracePeriodSeconds ?? Number.NaN;
    expect([pause, drain, grace]).toEqual([5, 120, 150]);
    expect(pause + drain + 10).toBeLessThan(grace);
  });

  test('is probed where the router answers everybody', () => {
    const open = Object.values(ROUTES).filter(({ access, method }) => access === 'open' && method === 'get');
    const probes = { liveness: container?.livenessProbe, readiness: container?.readinessProbe };
    expect(probes.liveness?.httpGet).toEqual({ path: ROUTES.liveness.path, port: 'http' });
    expect(probes.readiness?.httpGet).toEqual({ path: ROUTES.readiness.path, port: 'http' });
    for (const probe of Object.values(probes)) expect(open.map(({ path }) => path)).toContain(probe?.httpGet?.path);
  });

  test('listens where the Service and the probes look for it', () => {
    expect(container?.ports).toEqual([{ name: 'http', containerPort: Number(settings.PORT) }]);
    expect(service.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
    const labels = deployment.spec?.template.metadata?.labels;
    expect(service.spec?.selector).toEqual(labels);
    expect(deployment.spec?.selector.matchLabels).toEqual(labels);
  });

  test('runs without rights that it does not need, on a file system that it cannot write', () => {
    expect(sidecars).toEqual([]);
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod?.automountServiceAccountToken).toBe(false);
    expect(container?.resources).toMatchObject({ requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } });
  });

  test('is of the image of this version', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(container?.image).toBe(`mcp-agent-api:${version}`);
  });
});
