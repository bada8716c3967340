import { sameSecret } from '@slipway/contract/sameSecret';
import { isRecord } from '../../domain/scalars.ts';
import { wrongPayload } from '../hookRefusal.ts';
import { eventOf, type Form } from './form.ts';
import { forged, hmac, requireRecent } from './signatures.ts';

const FIELDS: ReadonlySet<string> = new Set(['id', 'title', 'status', 'at', 'labels']);
const TEXT_MAX_CHARACTERS = 1_000;

/**
 * A form for everything else: `{ id, title?, status?, at?, labels? }`, signed as Slipway signs its own webhooks:
 * `Slipway-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body">`.
 */
export const generic: Form = {
  authenticate({ header, body }, secret, now) {
    const given = header('slipway-signature');
    if (given === undefined) throw forged('the request has no header Slipway-Signature');
    const parts = given.split(',').map((part) => part.trim().split('=', 2));
    const time = parts.find(([name]) => name === 't')?.[1] ?? '';
    const expected = hmac(secret, `${time}.`, body);
    const isSigned = parts.some(([name, value = '']) => name === 'v1' && sameSecret(value, expected));
    if (!isSigned) throw forged('the signature is not that of the time and the body');
    requireRecent(time, now);
  },
  read(payload) {
    const { id, title, status, at, labels = {} } = payload;
    const unknown = Object.keys(payload).find((name) => !FIELDS.has(name));
    if (unknown !== undefined)
      throw wrongPayload(`"${unknown.slice(0, 80)}" is none of ${[...FIELDS].join(', ')}`);
    if (typeof id !== 'string' || id === '' || id.length > TEXT_MAX_CHARACTERS)
      throw wrongPayload(`"id" is not a text of 1 to ${TEXT_MAX_CHARACTERS} characters`);
    if (title !== undefined && typeof title !== 'string') throw wrongPayload('"title" is not text');
    if (status !== undefined && status !== 'firing' && status !== 'resolved')
      throw wrongPayload('"status" is neither firing nor resolved');
    if (at !== undefined && (typeof at !== 'string' || Number.isNaN(Date.parse(at))))
      throw wrongPayload('"at" is not a time in ISO 8601');
    if (!isRecord(labels)) throw wrongPayload('"labels" is not an object');
    const isFlat = Object.values(labels).every((value) =>
      ['string', 'number', 'boolean'].includes(typeof value),
    );
    if (!isFlat) throw wrongPayload('"labels" may hold texts, numbers and truth values only');
    return [
      eventOf({
        identity: [id],
        title: title === undefined || title === '' ? id : title,
        status,
        began: at,
        fields: payload,
      }),
    ];
  },
};
