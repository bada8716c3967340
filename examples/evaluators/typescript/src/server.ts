import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { type EvaluationRequest, evaluatorsWith } from './evaluators.ts';
import { isFromSlipway } from './signature.ts';

const { EVALUATORS_SECRET, MODEL, OPENAI_BASE_URL, PORT = '8401' } = process.env;
if (!EVALUATORS_SECRET || !MODEL) throw new Error('set EVALUATORS_SECRET and MODEL');

const evaluators = evaluatorsWith(MODEL, OPENAI_BASE_URL || undefined);

const server = createServer(async (request, response) => {
  const body = await text(request);
  if (!isFromSlipway(request.headers['slipway-signature'], body, EVALUATORS_SECRET)) {
    return answer(response, 401, { detail: 'the signature is not that of the body' });
  }
  const evaluate = evaluators.get(request.url ?? '');
  if (request.method !== 'POST' || evaluate === undefined) {
    return answer(response, 404, { detail: `POST to one of ${[...evaluators.keys()].join(', ')}` });
  }
  try {
    answer(response, 200, await evaluate(JSON.parse(body) as EvaluationRequest));
  } catch (error) {
    // Its message may quote what the model was sent.
    const status = (error as { readonly status?: number }).status;
    console.error(`${request.url}: the model failed${status === undefined ? '' : ` with ${status}`}`);
    answer(response, status === 429 ? 429 : 502, { detail: 'the model gave no score' });
  }
});

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`evaluators on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
