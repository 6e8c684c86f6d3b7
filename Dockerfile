# syntax=docker/dockerfile:1

FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY src ./src
COPY web ./web
RUN npm run build && npm prune --omit=dev

FROM node:20-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY demo ./demo
COPY LICENSE README.md ./
USER node
EXPOSE 8000
# The start may take MCP_AGENT_API_STARTUP_SECONDS, during which the service is not ready.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/readiness`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# node is started directly, not through npm, so that it receives SIGTERM.
CMD ["node", "dist/main.js"]
