# SPDX-License-Identifier: GPL-2.0-or-later
# The known answers in tests/unit/test_stats.c, from R (r-base-core), which shares no code
# with harness/analysis but the t distribution; that one is checked against a numerical
# integral of its density. Run: Rscript tests/unit/known/stats.R
options(digits = 15)
say <- function(what, x) cat(sprintf("%-28s %s\n", what, paste(format(x, digits = 15), collapse = " ")))

d <- c(0.0912, 0.1034, 0.0877, 0.0951, 0.1103, 0.0989, 0.0921, 0.1010)
t95 <- t.test(d); t90 <- t.test(d, conf.level = 0.90)
say("mean sd", c(mean(d), sd(d)))
say("interval 95 %", t95$conf.int)
say("interval 90 %", t90$conf.int)
# The prediction interval of a linear model with an intercept alone.
say("next 95 %", predict(lm(d ~ 1), newdata = data.frame(row.names = 1), interval = "prediction")[2:3])
say("p differs from 0.09", t.test(d, mu = 0.09)$p.value)
say("p above 0.09", t.test(d, mu = 0.09, alternative = "greater")$p.value)
say("p below 0.10", t.test(d, mu = 0.10, alternative = "less")$p.value)
say("p equivalent (0.09, 0.105)", max(t.test(d, mu = 0.09, alternative = "greater")$p.value,
                                      t.test(d, mu = 0.105, alternative = "less")$p.value))

density <- function(x, df) gamma((df + 1) / 2) / (sqrt(df * pi) * gamma(df / 2)) * (1 + x^2 / df)^(-(df + 1) / 2)
for (df in c(1, 5, 9, 19)) {
  q <- uniroot(function(q) integrate(density, 0, q, df = df, rel.tol = 1e-12)$value - 0.475,
               c(0.1, 50), tol = 1e-12)$root
  say(paste("t quantile 0.975, df", df), q)
}

p <- c(0.010, 0.041, 0.0005, 0.030, 0.2, 0.0125)
say("holm", p.adjust(p, "holm"))

x <- c(2.0, 1.9, 2.3, 2.1, 9.0, 2.2, 1.8, 2.05, 2.15)
q <- quantile(x, c(0.25, 0.5, 0.75), names = FALSE)
say("fences", c(q, q[1] - 1.5 * (q[3] - q[1]), q[3] + 1.5 * (q[3] - q[1])))
say("geometric mean", exp(mean(log(x))))

a <- c(1.00, 0.96, 1.06, 1.08, 1.16, 1.23, 2.02, 2.60, 1.00)
b <- c(1.01, 0.99, 1.02, 1.10, 1.05, 1.40, 1.90, 2.70, 1.02)
say("kendall tau-b", cor(a, b, method = "kendall"))

s <- c(100.0, 100.4, 100.1, 100.9, 101.2, 101.0, 101.8, 101.7, 102.3, 102.2)
k <- seq_along(s)
say("drift", coef(lm(s ~ k))[2] * (length(s) - 1) / mean(s))
say("halves", mean(s[6:10]) / mean(s[1:5]) - 1)

# Nested data: 4 boots of 2 repetitions of 3 samples; expected mean squares of a balanced
# nested analysis of variance.
v <- c(1.01, 1.03, 1.02,  1.06, 1.05, 1.08,   1.11, 1.12, 1.10,  1.09, 1.13, 1.12,
       0.97, 0.99, 0.98,  1.01, 1.00, 0.99,   1.05, 1.04, 1.07,  1.03, 1.06, 1.02)
boot <- factor(rep(1:4, each = 6)); rep <- factor(rep(1:8, each = 3))
ms <- summary(aov(v ~ boot + boot:rep))[[1]][["Mean Sq"]]
say("t2 sample", ms[3])
say("t2 repetition", (ms[2] - ms[3]) / 3)
say("t2 boot", (ms[1] - ms[2]) / 6)
