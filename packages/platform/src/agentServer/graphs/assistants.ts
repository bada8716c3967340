import { createHash } from 'node:crypto';

import type { AssistantSearch } from '@slipway/contract/runApi/assistant';

import { HttpProblem } from '../../http/problem.ts';
import {
  type AssistantContent,
  assistantNotFound,
  type AssistantRecord,
  type AssistantStore,
  matches,
  type VersionQuery,
} from '../store/assistantStore.ts';
import type { Kwargs } from '../runs/newRun.ts';
import type { CompiledGraph } from './compiledGraph.ts';
import type { LoadedGraph, LoadedGraphs } from './graphLoader.ts';

/** The namespace in which the public servers of the Run API derive assistant ids. */
const NAMESPACE = Buffer.from('6ba7b8219dad11d180b400c04fd430c8', 'hex');

/** The assistant id of a graph: a version 5 uuid of its name, the same on every server and after every restart. */
function assistantIdOf(graphName: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(graphName, 'utf8').digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * The assistants of an agent, addressed by graph name or id (contract 001, "What the service does").
 *
 * Each graph has a system assistant under its name. Decision: it reflects the source, so clients can neither change
 * nor delete it. For another configuration, a client creates an assistant of the graph. The deployment keeps those.
 * If this revision does not serve its graph, the assistant remains but cannot be run.
 */
export class Assistants {
  readonly #graphs: LoadedGraphs;
  readonly #store: AssistantStore;
  readonly #system: ReadonlyMap<string, AssistantRecord>;

  constructor(graphs: LoadedGraphs, store: AssistantStore) {
    const since = new Date();
    this.#graphs = graphs;
    this.#store = store;
    this.#system = new Map([...graphs.values()].map((graph) => [graph.name, systemAssistant(graph, since)]));
  }

  /** The assistant with this graph name or id. @throws HttpProblem 404 */
  async get(assistant: string): Promise<AssistantRecord> {
    const known = this.#findSystemAssistant(assistant);
    if (known !== undefined) return known;
    const created = UUID.test(assistant) ? await this.#store.find(assistant.toLowerCase()) : undefined;
    if (created === undefined) throw assistantNotFound(assistant);
    return created;
  }

  /** The graph of that name. @throws HttpProblem 404 */
  getGraph(name: string): LoadedGraph {
    const graph = this.#graphs.get(name);
    if (graph === undefined) throw new HttpProblem(404, `This revision serves no graph named ${name}.`);
    return graph;
  }

  /** The graph of a run. @throws GraphNotServed if another revision accepted the run and this one lacks its graph. */
  async graphOfRun({ config }: Pick<Kwargs, 'config'>): Promise<CompiledGraph> {
    const name = String(config.configurable['graph_id']);
    const graph = this.#graphs.get(name);
    if (graph === undefined) throw new GraphNotServed(name);
    return graph.resolve(config);
  }

  get onlyGraph(): LoadedGraph | undefined {
    return this.#graphs.size === 1 ? [...this.#graphs.values()][0] : undefined;
  }

  get systemAssistants(): AssistantRecord[] {
    return [...this.#system.values()];
  }

  search(query: AssistantSearch): Promise<{ found: AssistantRecord[]; total: number }> {
    return this.#store.search(query, this.systemAssistants);
  }

  /** @throws HttpProblem 404 for an unknown graph, 409 if the id exists and `ifExists` is `raise`. */
  async create(
    content: AssistantContent,
    options: { assistantId?: string; ifExists: 'raise' | 'do_nothing' },
  ): Promise<AssistantRecord> {
    this.getGraph(content.graph_id);
    const known =
      options.assistantId === undefined ? undefined : this.#findSystemAssistant(options.assistantId);
    if (known === undefined) return this.#store.create(content, options);
    if (options.ifExists === 'raise')
      throw new HttpProblem(409, `Assistant ${known.assistant_id} exists already.`);
    return known;
  }

  /** Stores a new version. @throws HttpProblem 404; 409 for a system assistant. */
  async update(assistant: string, patch: Partial<AssistantContent>): Promise<AssistantRecord> {
    if (patch.graph_id !== undefined) this.getGraph(patch.graph_id);
    return this.#store.revise(this.#createdAssistantId(assistant), patch);
  }

  /**
   * `removeThreads` removes what belongs to it, if that is wanted. Only then is it removed itself, so that a client can
   * repeat a request that was cut off.
   * @throws HttpProblem 404; 409 for a system assistant.
   */
  async remove(assistant: string, removeThreads?: (assistantId: string) => Promise<void>): Promise<void> {
    const { assistant_id: id } = await this.#store.get(this.#createdAssistantId(assistant));
    await removeThreads?.(id);
    await this.#store.remove(id);
  }

  /** The versions, newest first; a system assistant has one. @throws HttpProblem 404 */
  async versions(assistant: string, query: VersionQuery): Promise<AssistantRecord[]> {
    const system = this.#findSystemAssistant(assistant);
    if (system !== undefined) return [system].filter((only) => matches(only, query)).slice(query.offset);
    return this.#store.versions((await this.get(assistant)).assistant_id, query);
  }

  /** @throws HttpProblem 404 for an unknown assistant or version, 409 for a system assistant. */
  async setVersion(assistant: string, version: number): Promise<AssistantRecord> {
    return this.#store.setVersion(this.#createdAssistantId(assistant), version);
  }

  #findSystemAssistant(assistant: string): AssistantRecord | undefined {
    const named = this.#system.get(assistant);
    if (named !== undefined) return named;
    const id = assistant.toLowerCase();
    return this.systemAssistants.find((each) => each.assistant_id === id);
  }

  /** The id of an assistant that a caller created. @throws HttpProblem 404, 409 */
  #createdAssistantId(assistant: string): string {
    const known = this.#findSystemAssistant(assistant);
    if (known !== undefined) {
      throw new HttpProblem(
        409,
        `Assistant ${assistant} is the graph ${known.graph_id} as its source says, and cannot be changed: create an assistant of the graph.`,
      );
    }
    if (!UUID.test(assistant)) throw assistantNotFound(assistant);
    return assistant.toLowerCase();
  }
}

/** The revision that claimed a run does not have the run's graph. The run ends with this error. */
class GraphNotServed extends Error {
  override readonly name = 'GraphNotServed';

  constructor(graph: string) {
    super(`This revision serves no graph named ${graph}, which the run was made for.`);
  }
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu;

function systemAssistant(graph: LoadedGraph, since: Date): AssistantRecord {
  return {
    assistant_id: assistantIdOf(graph.name),
    graph_id: graph.name,
    name: graph.name,
    description: graph.description ?? null,
    config: {},
    context: {},
    metadata: { created_by: 'system' },
    version: 1,
    created_at: since,
    updated_at: since,
  };
}
