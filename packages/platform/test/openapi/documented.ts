import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';

import { controlPlaneDocument, runApiDocument } from '../../src/openapi/document.ts';

/** One operation of a document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly value: {
    readonly parameters?: readonly { readonly name: string; readonly in: string }[];
    readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
    readonly responses: Readonly<
      Record<string, { readonly content?: Readonly<Record<string, { example?: unknown }>> }>
    >;
  };
}

/** A document, with an independent validator of its schemas. */
export class Documented {
  readonly operations: readonly Operation[];
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: object) {
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
    const { paths } = document as { paths: Record<string, Record<string, Operation['value']>> };
    this.operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, value]) => ({ method: method.toUpperCase(), path, value })),
    );
  }

  find(method: string, path: string): Operation | undefined {
    const [bare = ''] = path.split('?');
    return this.operations.find(
      (each) =>
        each.method === method &&
        new RegExp(`^${each.path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u').test(bare),
    );
  }

  /** The problems of a value at a schema of the document; none if it is valid. */
  problems(pointer: readonly string[], value: unknown): string[] {
    const ref = `document#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    let validate = this.#compiled.get(ref);
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: ref });
      this.#compiled.set(ref, validate);
    }
    return validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
  }

  /** Expects that the document has the answer's status, content type and shape. */
  expectAnswer(method: string, path: string, answer: { status: number; type: string; text: string }): void {
    const place = `${method} ${path} ${answer.status}`;
    const operation = this.find(method, path);
    if (operation === undefined) {
      expect(answer.status, `${place} is in no document`).toBeGreaterThanOrEqual(401);
      return;
    }
    const response = operation.value.responses[String(answer.status)];
    expect(response, `${place} is not a documented status`).toBeDefined();
    const [type = ''] = answer.type.split(';');
    if (response?.content === undefined) {
      expect(answer.text, place).toBe('');
      return;
    }
    expect(Object.keys(response.content), place).toContain(type);
    if (type !== 'application/json') return;
    const pointer = ['paths', operation.path, operation.method.toLowerCase(), 'responses'];
    const schema = [...pointer, String(answer.status), 'content', type, 'schema'];
    const problems = this.problems(schema, JSON.parse(answer.text));
    expect(problems, `${place}: ${problems.join('; ')} in ${answer.text}`).toEqual([]);
  }
}

export const CONTROL_PLANE = new Documented(controlPlaneDocument());
export const RUN_API = new Documented(runApiDocument());
