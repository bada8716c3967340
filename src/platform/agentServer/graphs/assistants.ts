import { createHash } from 'node:crypto';

import { HttpProblem } from '../../http/problem.ts';
import { type LoadedGraph, type LoadedGraphs } from './graphLoader.ts';

/** An assistant: here each graph has exactly one, made of its name (contract 001: fields "not shown"). */
export interface AssistantRecord {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: Record<string, unknown>;
  readonly context: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The namespace that the public relatives of the Run API derive assistant ids in. */
const NAMESPACE = Buffer.from('6ba7b8219dad11d180b400c04fd430c8', 'hex');

/** The assistant id of a graph: a version 5 uuid of its name, the same on every server and after every restart. */
export function assistantIdOf(graphName: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(graphName, 'utf8').digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The assistants of an agent: addressed by graph name or by id (contract 001, "What the service does"). */
export class Assistants {
  readonly #graphs: LoadedGraphs;
  readonly #namesById: ReadonlyMap<string, string>;
  readonly #since = new Date().toISOString();

  constructor(graphs: LoadedGraphs) {
    this.#graphs = graphs;
    this.#namesById = new Map([...graphs.keys()].map((name) => [assistantIdOf(name), name]));
  }

  /** The graph behind a name or an assistant id. @throws HttpProblem 404 */
  graphOf(assistant: string): LoadedGraph {
    const graph =
      this.#graphs.get(assistant) ?? this.#graphs.get(this.#namesById.get(assistant.toLowerCase()) ?? '');
    if (graph === undefined) throw new HttpProblem(404, `Assistant ${assistant} not found.`);
    return graph;
  }

  /** Like {@link graphOf}, for a graph that a thread was used with. @throws HttpProblem 404 */
  graphNamed(name: string): LoadedGraph {
    const graph = this.#graphs.get(name);
    if (graph === undefined) throw new HttpProblem(404, `This revision serves no graph named ${name}.`);
    return graph;
  }

  /** The only graph, where there is only one. */
  get only(): LoadedGraph | undefined {
    return this.#graphs.size === 1 ? [...this.#graphs.values()][0] : undefined;
  }

  get(assistant: string): AssistantRecord {
    return this.#describe(this.graphOf(assistant));
  }

  all(): AssistantRecord[] {
    return [...this.#graphs.values()].map((graph) => this.#describe(graph));
  }

  #describe(graph: LoadedGraph): AssistantRecord {
    return {
      assistant_id: assistantIdOf(graph.name),
      graph_id: graph.name,
      name: graph.name,
      description: graph.description ?? null,
      config: {},
      context: {},
      metadata: { created_by: 'system' },
      version: 1,
      created_at: this.#since,
      updated_at: this.#since,
    };
  }
}
