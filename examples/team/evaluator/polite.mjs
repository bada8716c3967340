// An evaluator: scores how polite an answer is. docs/evaluators.md of Slipway describes the protocol.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const { EVALUATOR_SECRET, PORT = '4710' } = process.env;
const POLITE = [/please|thank|journey|welcome/i, /[.!?]$/];

function isFromSlipway(header = '', body) {
  const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  if (time === undefined || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const own = createHmac('sha256', EVALUATOR_SECRET).update(`${time}.${body}`).digest();
  return timingSafeEqual(own, Buffer.from(digest, 'hex'));
}

const server = createServer(async (request, response) => {
  const body = await text(request);
  if (!isFromSlipway(request.headers['slipway-signature'], body)) return response.writeHead(401).end();
  const { answer } = JSON.parse(body);
  const score = POLITE.filter((sign) => sign.test(answer)).length / POLITE.length;
  response.end(JSON.stringify({ score, comment: score < 1 ? 'it could be kinder' : 'kind' }));
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
