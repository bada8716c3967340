import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseEnv } from 'node:util';

import { errorText } from '@slipway/contract/codedError';
import { VOCABULARY } from '@slipway/contract/controlPlane/vocabulary';
import type { GraphConfig } from '@slipway/contract/graphConfig';
import type { Logger } from 'pino';

import { PlatformError, undefinedIfMissing } from '../../errors.ts';
import { filesMeantBy, parseGraphConfig, satisfiesNodeVersion } from '../../graphConfigText.ts';
import { HttpProblem } from '../../http/problem.ts';
import { type CompiledGraph, isCompiledGraph, isGraphBuilder } from './compiledGraph.ts';

/** A graph that `graph.json` names: compiled once, or built anew for each configuration. */
export interface LoadedGraph {
  readonly name: string;
  readonly description: string | undefined;
  /** The graph, if it does not depend on a configuration. */
  readonly compiled: CompiledGraph | undefined;
  /** The compiled graph for a run's configuration. @throws what the agent's own function throws */
  resolve(config: Record<string, unknown>): Promise<CompiledGraph>;
}

/** The graphs of one agent, by the name that they are deployed under (contract 001, "What the service does"). */
export type LoadedGraphs = ReadonlyMap<string, LoadedGraph>;

/**
 * Reads the graph configuration (`graphConfigPath`, relative to `agentDir`; default `graph.json`, or `langgraph.json`
 * if only that exists). Applies its `env` to this process without overriding variables that are set. Imports every
 * graph: a compiled graph, a `StateGraph` (compiled here), or a function of the configuration that returns one of
 * them. TypeScript sources are compiled on import.
 *
 * Decision: a missing env file is logged, and the agent starts. Artifacts are packed without `.env`: in a deployment,
 * its values come from the deployment's secrets.
 * @returns The graphs, and the pages that may call the agent from a browser, if the configuration has `http.cors`.
 * @throws PlatformError `SLIPWAY_GRAPH_NOT_LOADED` naming graph, file, export and reason.
 */
export async function loadGraphs(agentDir: string, graphConfigPath: string | undefined, log: Logger) {
  const file = resolve(agentDir, graphConfigPath ?? findGraphConfig(agentDir));
  const config = await readGraphConfig(file);
  const root = dirname(file);
  if (!satisfiesNodeVersion(config.node_version, process.versions.node)) {
    throw graphNotLoaded(
      `${file} asks for Node ${String(config.node_version)} or newer (node_version), and this is Node ${process.versions.node}`,
      file,
    );
  }
  await applyEnvironment(config.env, root, log);
  const entries = Object.entries(config.graphs);
  if (entries.some(([, { path }]) => /\.[cm]?tsx?:[^:]*$/.test(path))) await registerTypeScript(root);
  const graphs = new Map<string, LoadedGraph>();
  // One at a time: two graphs of one file must not see it half evaluated, and the first failure is reported.
  for (const [name, { path, description }] of entries)
    graphs.set(name, { name, description, ...(await loadGraph(name, path, root)) });
  return { graphs, cors: config.http?.cors ?? undefined };
}

/** The name of the configuration file in a folder. If both exist, or neither, it is the contract's. */
function findGraphConfig(agentDir: string): string {
  const { contract, public: relative } = VOCABULARY.graphConfigFile;
  const isOther = !existsSync(join(agentDir, contract)) && existsSync(join(agentDir, relative));
  return isOther ? relative : contract;
}

async function readGraphConfig(file: string): Promise<GraphConfig> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = isMissing ? `there is no ${file}` : `${file} could not be read: ${reasonOf(error)}`;
    throw graphNotLoaded(message, file, error);
  });
  try {
    return parseGraphConfig(file, text);
  } catch (error) {
    throw graphNotLoaded(errorText(error), file, error);
  }
}

async function applyEnvironment(env: GraphConfig['env'], root: string, log: Logger): Promise<void> {
  // A list of names only declares required variables.
  if (env === undefined || Array.isArray(env)) return;
  const values = typeof env === 'string' ? await readEnvFile(env, root, log) : env;
  // The deployment's variables (its secrets) override those of the source.
  for (const [name, value] of Object.entries(values)) process.env[name] ??= value;
}

async function readEnvFile(
  name: string,
  root: string,
  log: Logger,
): Promise<Record<string, string | undefined>> {
  const file = resolve(root, name);
  const text = await readFile(file, 'utf8')
    .catch(undefinedIfMissing)
    .catch((error: unknown) => {
      throw graphNotLoaded(`The env file ${file} could not be read: ${reasonOf(error)}`, file, error);
    });
  if (text !== undefined) return parseEnv(text);
  log.warn(
    `The env file ${name} of the graph configuration does not exist: the agent starts without it. ` +
      "Secrets come from the deployment's secrets; artifacts carry no .env files.",
  );
  return {};
}

let typeScriptRegistered = false;

/** Registers the TypeScript loader once, and only for agents that need it, because it costs start-up time. */
async function registerTypeScript(root: string): Promise<void> {
  if (typeScriptRegistered) return;
  typeScriptRegistered = true;
  const [esm, cjs] = await Promise.all([import('tsx/esm/api'), import('tsx/cjs/api')]);
  cjs.register();
  const tsconfig = join(root, 'tsconfig.json');
  esm.register({ tsconfig: existsSync(tsconfig) ? tsconfig : false });
}

async function loadGraph(
  name: string,
  path: string,
  root: string,
): Promise<Pick<LoadedGraph, 'compiled' | 'resolve'>> {
  const graphName = `Graph "${name}" (${path})`;
  const fail = (reason: string, cause?: unknown) =>
    graphNotLoaded(`${graphName} could not be loaded: ${reason}`, path, cause);
  const colon = path.lastIndexOf(':');
  const found = filesMeantBy(resolve(root, path.slice(0, colon))).find((each) => existsSync(each));
  if (found === undefined) throw fail('the file does not exist');
  const file = await realpath(found);
  if (relative(await realpath(root), file).startsWith('..')) throw fail('the file lies outside the agent');
  let graph: CompiledGraph | undefined;
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    const exported = exportOf(module, path.slice(colon + 1));
    if (exported === undefined) {
      const offered = Object.keys(module).filter((each) => each !== 'module.exports');
      throw fail(`the file has no export of that name; it has: ${offered.join(', ') || 'none'}`);
    }
    if (typeof exported === 'function') {
      const make = exported as (config: Record<string, unknown>) => unknown;
      const resolve = async (config: Record<string, unknown>) => {
        const made = toCompiled(await make(config));
        if (made !== undefined) return made;
        throw new TypeError(`${graphName} is a function that did not return a graph.`);
      };
      return { compiled: undefined, resolve };
    }
    graph = toCompiled(await Promise.resolve(exported));
  } catch (error) {
    throw error instanceof PlatformError ? error : fail(reasonOf(error), error);
  }
  if (graph === undefined)
    throw fail('the export is neither a compiled graph, nor a StateGraph, nor a function that returns one');
  const compiled = graph;
  return { compiled, resolve: () => Promise.resolve(compiled) };
}

function toCompiled(value: unknown): CompiledGraph | undefined {
  if (isCompiledGraph(value)) return value;
  if (isGraphBuilder(value)) {
    const compiled = value.compile();
    return isCompiledGraph(compiled) ? compiled : undefined;
  }
  return undefined;
}

/** A CommonJS module has its exports under `default`. */
function exportOf(module: Record<string, unknown>, name: string): unknown {
  if (name in module) return module[name];
  const inner = module['default'];
  if (typeof inner === 'object' && inner !== null && name in inner)
    return (inner as Record<string, unknown>)[name];
  return undefined;
}

function graphNotLoaded(message: string, place: string, cause?: unknown): PlatformError {
  return new PlatformError('SLIPWAY_GRAPH_NOT_LOADED', message, {
    place,
    hint: 'Install the agent’s packages (npm ci), and fix the graph or its entry in graph.json. To try it on this machine: slipway agent DIR',
    cause,
  });
}

/** One line, because the platform shows the last line of the process's stderr as the reason. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replace(/\s*\n\s*/g, ' ').slice(0, 1_000);
}

/**
 * Resolves a graph to inspect it or its states outside of a run. If the agent's function of the configuration throws,
 * that is the agent's refusal, not a failure of the server.
 * @throws HttpProblem 409 with the message of the agent's function.
 */
export async function resolveForInspection(
  loaded: LoadedGraph,
  config: Record<string, unknown>,
): Promise<CompiledGraph> {
  try {
    return await loaded.resolve(config);
  } catch (error) {
    const detail = `The graph ${loaded.name} could not be made outside of a run: ${errorText(error)}`;
    throw new HttpProblem(409, detail, { cause: error });
  }
}
