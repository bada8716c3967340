import type { IncomingMessage, ServerResponse } from 'node:http';

import { answerProblem, HttpProblem } from '../http/problem.ts';
import { AgentRoute, forward, type GatewayAgent, hasBody, type ProxyRequest } from './forward.ts';

/** How long a request waits for a starting agent, in milliseconds. */
const WAIT_FOR_AGENT_MS = 5_000;
/** The delay before the same agent is tried again after a refused connection, in ms. */
const RETRY_PAUSE_MS = 100;
/** `Retry-After` if no agent could answer, in seconds. */
const RETRY_AFTER_S = 2;
/** How often to send a GET that an agent took but did not answer, in all. */
const MAX_READ_ATTEMPTS = 2;

/**
 * Routes requests to the agents: one stable address per deployment, whichever revision serves it.
 *
 * A request goes to the agent that is active at its arrival, and stays there until it has ended. It is sent again if
 * that agent never saw it, or if it is a read without an answer: the gateway waits for an active agent and sends it
 * there. So neither a switch nor a restart fails a request, unless a crashed agent had taken it.
 */
export class Gateway {
  readonly #patienceMs: number;
  readonly #agentKeyOf: (deploymentId: string) => string;
  readonly #deployments = new Map<string, Deployment>();
  readonly #retiring = new Set<AgentRoute>();

  /**
   * @param options.patienceMs - how long a request waits for a starting agent. Default: 5,000.
   * @param options.agentKeyOf - the key of a deployment's agents, which replaces the clients' keys.
   */
  constructor(options: { patienceMs?: number; agentKeyOf: (deploymentId: string) => string }) {
    this.#patienceMs = options.patienceMs ?? WAIT_FOR_AGENT_MS;
    this.#agentKeyOf = options.agentKeyOf;
  }

  /**
   * Answers a request through a deployment's agent, streamed both ways, with the header `x-slipway-revision-id`.
   * Its own answers are `{"detail": "…"}`: 404 for an unknown deployment; 503 if no revision is active, or none
   * started in time; 502 if the agent was unreachable or broke off before it answered.
   * @param path - path and query for the agent, beginning with `/`; the part of the request's URL before it is sent
   * as `x-forwarded-prefix`.
   */
  async handle(
    deploymentId: string,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> {
    const deployment = this.#deployments.get(deploymentId);
    if (deployment === undefined) {
      respond(response, 404, `Deployment ID ${deploymentId} not found.`);
      return;
    }
    const url = request.url ?? path;
    const prefix = url.endsWith(path) ? url.slice(0, url.length - path.length) : '';
    const agentKey = this.#agentKeyOf(deploymentId);
    const deadline = performance.now() + this.#patienceMs;
    await forwardUntilAnswered(deployment, { request, response, path, prefix, agentKey }, deadline);
  }

  /** Registers a deployment. Without an agent, requests wait if it is `starting`, else get "no active revision". */
  register(deploymentId: string, { starting }: { readonly starting: boolean }): void {
    this.#findOrCreate(deploymentId).setStarting(starting);
  }

  /** Sends further requests to this agent. Resolves when the last request (or stream) on the previous one ended. */
  switchTo(deploymentId: string, agent: GatewayAgent): Promise<void> {
    return this.#retire(this.#findOrCreate(deploymentId).setAgent(agent));
  }

  /** Removes a deployment. Resolves when its last request has ended. */
  async remove(deploymentId: string): Promise<void> {
    const deployment = this.#deployments.get(deploymentId);
    this.#deployments.delete(deploymentId);
    await this.#retire(deployment?.clearRoute());
  }

  async close(): Promise<void> {
    const left = [...this.#deployments.values()].map((deployment) => deployment.clearRoute());
    this.#deployments.clear();
    await Promise.all([...this.#retiring, ...left].map(async (route) => route?.pool.destroy()));
  }

  async #retire(route: AgentRoute | undefined): Promise<void> {
    if (route === undefined) return;
    this.#retiring.add(route);
    await route.drainAndClose();
    this.#retiring.delete(route);
  }

  #findOrCreate(deploymentId: string): Deployment {
    const deployment = this.#deployments.get(deploymentId) ?? new Deployment(deploymentId);
    this.#deployments.set(deploymentId, deployment);
    return deployment;
  }
}

/** Sends one request to the active agent, until one answers or the deadline passes. */
async function forwardUntilAnswered(
  deployment: Deployment,
  proxyRequest: ProxyRequest,
  deadline: number,
): Promise<void> {
  const { request, response } = proxyRequest;
  const isRead = (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request);
  let attempts = 0;
  while (!response.destroyed) {
    const route = deployment.route;
    if (route === undefined && !deployment.starting) {
      respond(response, 503, `Deployment ID ${deployment.id} has no active revision.`);
      return;
    }
    if (route === undefined || route.exited) {
      if (await deployment.waitForChange(deadline - performance.now(), response)) continue;
      respond(response, 503, `The agent of deployment ID ${deployment.id} is not up yet.`);
      return;
    }
    const result = await forward(route, proxyRequest);
    if (result.kind === 'over') return;
    if (result.kind === 'unforwardable') {
      respond(response, 400, result.reason);
      return;
    }
    if (result.sent) {
      attempts += 1;
      if (!isRead || attempts === MAX_READ_ATTEMPTS) {
        respond(response, 502, disconnectedDetail(deployment.id, isRead));
        return;
      }
    }
    if (performance.now() >= deadline) {
      respond(response, 502, `The agent of deployment ID ${deployment.id} cannot be reached.`);
      return;
    }
    if (deployment.route === route) await deployment.waitForChange(RETRY_PAUSE_MS, response);
  }
}

function disconnectedDetail(deploymentId: string, isRead: boolean): string {
  const what = `The agent of deployment ID ${deploymentId} broke off before it answered`;
  return isRead ? `${what}.` : `${what}; it may have taken the request.`;
}

/** A browser sends it without a key to ask whether a page may send a request. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Answers instead of an agent. A preflight is allowed, so that the page can read the answer to its request. */
function respond(response: ServerResponse, status: 400 | 404 | 502 | 503, detail: string): void {
  if (isPreflight(response.req)) {
    const allowed = response.req.headers['access-control-request-headers'] ?? '*';
    response.writeHead(204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': '*',
      'access-control-allow-headers': allowed,
      // An agent that serves later decides by itself.
      'access-control-max-age': '0',
    });
    response.end();
    return;
  }
  const headers = status >= 500 ? { 'retry-after': String(RETRY_AFTER_S) } : undefined;
  answerProblem(response, new HttpProblem(status, detail, { headers }));
}

/** One deployment in the gateway, and the requests that wait for it to change. */
class Deployment {
  readonly id: string;
  route: AgentRoute | undefined;
  starting = false;
  readonly #waiting = new Set<() => void>();

  constructor(id: string) {
    this.id = id;
  }

  setStarting(starting: boolean): void {
    // An agent that has ended without a successor is no active revision.
    this.#setRoute(!starting && this.route?.exited === true ? undefined : this.route, starting);
  }

  setAgent(agent: GatewayAgent): AgentRoute | undefined {
    return this.#setRoute(new AgentRoute(agent, () => this.#notifyWaiting()), false);
  }

  clearRoute(): AgentRoute | undefined {
    return this.#setRoute(undefined, false);
  }

  #setRoute(route: AgentRoute | undefined, starting: boolean): AgentRoute | undefined {
    const previous = this.route;
    this.route = route;
    this.starting = starting;
    this.#notifyWaiting();
    return previous;
  }

  /** Waits for a change, at most `withinMs` and while the client is connected. Returns whether one came. */
  async waitForChange(withinMs: number, response: ServerResponse): Promise<boolean> {
    if (withinMs <= 0) return false;
    return new Promise((resolve) => {
      const finish = (came: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(onChange);
        response.off('close', onChange);
        resolve(came);
      };
      const onChange = () => finish(true);
      const timer = setTimeout(() => finish(false), withinMs);
      this.#waiting.add(onChange);
      response.once('close', onChange);
    });
  }

  #notifyWaiting(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
