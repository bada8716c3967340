import { serve } from '@hono/node-server';

import {
  publicAnswerProblems,
  publicRequestProblems,
} from '../../packages/contract/test/controlPlane/publicDocument.ts';
import { TestPlatform } from '../../packages/platform/test/controlPlane/testPlatform.ts';
import { urlOf } from '../support/listen.ts';

export interface PublicService {
  readonly url: string;
  readonly platform: TestPlatform;
  /** Where requests and answers did not match the public document. */
  readonly problems: string[];
  /** Each request as `METHOD /path`, in order of arrival. */
  readonly requests: string[];
  close(): Promise<void>;
}

/**
 * The platform with the public vocabulary, behind a server that checks every request and answer against the document
 * that the public service publishes. It is as strict as that service where the document says nothing: upload URLs only
 * under `/v2`, without headers of their own, and a PUT must send the signed headers.
 */
export async function startPublicService(): Promise<PublicService> {
  const platform = await TestPlatform.open({ vocabulary: 'public' });
  const problems: string[] = [];
  const requests: string[] = [];

  const answer = async (request: Request): Promise<Response> => {
    const { pathname: path } = new URL(request.url);
    requests.push(`${request.method} ${path.replace(/[^/]{100,}/u, '…')}`);
    if (path.startsWith('/uploads/')) return upload(request);
    if (path.startsWith('/deployments/')) return Response.json({ detail: 'Not Found' }, { status: 404 });
    const isDocumented = !/upload-url$|_logs$/u.test(path);
    const text = await request.text();
    if (isDocumented) {
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      problems.push(...publicRequestProblems(request.method, path, body));
    }
    const { url, method, headers } = request;
    const response = await platform.app.fetch(
      new Request(url, { method, headers, ...(text === '' ? {} : { body: text }) }),
    );
    const answered = await response.text();
    const json: unknown = answered === '' ? undefined : JSON.parse(answered);
    if (isDocumented) problems.push(...publicAnswerProblems(method, path, response.status, json));
    if (!path.endsWith('upload-url')) return new Response(answered || null, response);
    const { upload_headers: _, ...bare } = json as Record<string, unknown>;
    return Response.json(bare, { status: response.status });
  };

  const upload = (request: Request): Response | Promise<Response> => {
    const signed = [request.headers.get('content-type'), request.headers.get('x-goog-content-length-range')];
    if (signed.join() === 'application/gzip,0,209715200') return platform.app.fetch(request);
    return new Response('<Error><Code>SignatureDoesNotMatch</Code></Error>', { status: 403 });
  };

  const server = serve({ fetch: answer, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: urlOf(server),
    platform,
    problems,
    requests,
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
      await platform.close();
    },
  };
}
